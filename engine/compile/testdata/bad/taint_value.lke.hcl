pool "web" {
  node_class     = node_class.default
  startup_taints = ["a=b c:NoSchedule"] # want: Invalid NodePool: spec.template.spec.startupTaints[0].value: should match '
}
