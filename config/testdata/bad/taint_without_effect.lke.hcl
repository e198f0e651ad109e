pool "web" {
  node_class = node_class.default
  taints     = ["team=web"] # want: Taint without an effect: "team=web" says what the taint is called, but not what it does. Write "team=web:NoSchedule"
}
