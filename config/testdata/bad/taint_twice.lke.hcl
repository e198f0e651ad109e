pool "web" {
  node_class = node_class.default
  taints     = ["a=1:NoExecute", "a=2:NoExecute"] # want: Duplicate taint: A node can have only one taint a with the effect NoExecute.
}
