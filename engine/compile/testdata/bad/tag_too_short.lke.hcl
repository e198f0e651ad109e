node_class "web" {
  tags = ["env:prod", "a"] # want: Node class without machines: "a" has 1 characters; Linode allows tags of 3 to 50.
}
