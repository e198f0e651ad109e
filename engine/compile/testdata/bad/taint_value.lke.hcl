pool "web" {
  node_class     = node_class.default
  startup_taints = ["a=b c:NoSchedule"] # want: Invalid NodePool: spec.template.spec.startupTaints[0].value: "b c" cannot be a value: it must consist of letters, digits, dashes, underscores and dots,
}
