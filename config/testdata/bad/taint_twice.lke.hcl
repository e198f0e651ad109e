pool "web" {
  node_class = node_class.default
  taints     = ["a=1:NoExecute", "a=2:NoExecute"] # want: Taint given twice: A node has one taint a with the effect NoExecute, and here are two.
}
