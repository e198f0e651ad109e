node_class "web" {
  tags = ["env:prod", "a"] # want: Node class that LKE refuses: "a" has 1 characters; Linode takes tags of 3 to 50.
}
