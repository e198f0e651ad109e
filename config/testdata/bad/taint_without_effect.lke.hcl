pool "web" {
  node_class = node_class.default
  taints     = ["team=web"] # want: Taint without an effect: "team=web" has no effect.
}
