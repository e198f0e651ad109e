pool "web" {
  node_class = node_class.default
  taints     = ["a:NoExecute", null] # want: Null in a list: An element of taints is null.
}
