pool "web" {
  node_class = node_class.default
  taints     = ["team=web:NoSchedul"] # want: Unknown taint effect: "NoSchedul" is not an effect. Possible effects are NoSchedule, PreferNoSchedule, NoExecute. Did you mean "NoSchedule"?
}
