pool "web" {
  node_class = node_class.default
  taints     = ["team=web:noschedule"] # want: Unknown taint effect: "noschedule" is not an effect. Possible effects are NoSchedule, PreferNoSchedule, NoExecute. Did you mean "NoSchedule"?
}
