node_class "web" {
  tags = ["env:prod", "a"] # want: Node class cannot create machines: "a" has 1 characters; Linode allows tags of 3 to 50. More: lkeplan explain class-refused.
}
