# lkeplan:ignore uncapped-plan-size large pods # want: Ignore comment without effect: uncapped-plan-size reports nothing here.
pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}
