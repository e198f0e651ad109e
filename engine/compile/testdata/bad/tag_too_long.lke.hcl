node_class "web" {
  tags = ["ttttttttttttttttttttttttttttttttttttttttttttttttttt"] # want: Node class without machines: "ttttttttttttttttttttttttttttttttttttttttttttttttttt" has 51 characters; Linode allows tags of 3 to 50.
}
