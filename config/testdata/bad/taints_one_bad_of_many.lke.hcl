pool "web" {
  node_class = node_class.default
  taints = [
    "team=web:NoSchedule",
    "team",          # want: Taint without an effect
    "gpu:NoSchedul", # want: Unknown taint effect
  ]
}
