node_class "web" {
  tags = ["ttttttttttttttttttttttttttttttttttttttttttttttttttt"] # want: Node class cannot create machines: "ttttttttttttttttttttttttttttttttttttttttttttttttttt" has 51 characters; Linode allows tags of 3 to 50. More: lkeplan explain class-refused.
}
