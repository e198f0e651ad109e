pool "web" {
  node_class = node_class.default
  taints     = ["team=web"] # want: Taint without an effect: The taint "team=web" does not name an effect.
}
