pool "web" {
  node_class = node_class.default
  taints     = ["team=web:NoSchedule", "a b=c:NoSchedule"] # want: Invalid NodePool: spec.template.spec.taints[0].key: "a b" cannot be a key: it must consist of letters, digits,
}
