pool "web" {
  node_class = node_class.default
  taints     = ["=web:NoSchedule"] # want: Taint without a key: "=web:NoSchedule" has no key.
}
