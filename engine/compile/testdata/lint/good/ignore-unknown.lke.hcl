# lkeplan:ignore uncapped-plan-size large pods
pool "web" {
  node_class = node_class.default
}
