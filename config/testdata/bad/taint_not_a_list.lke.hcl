pool "web" {
  node_class = node_class.default
  taints     = "a:NoExecute" # want: Wrong type of value: The argument taints takes a list such as
}
