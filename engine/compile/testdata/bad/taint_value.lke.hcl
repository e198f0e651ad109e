pool "web" {
  node_class     = node_class.default
  startup_taints = ["a=b c:NoSchedule"] # want: Invalid NodePool: spec.template.spec.startupTaints[0].value: "b c" cannot be the value of a taint: it must consist of letters, digits, dashes, underscores and dots, with a letter or digit at both ends, and 63 characters at most.
}
