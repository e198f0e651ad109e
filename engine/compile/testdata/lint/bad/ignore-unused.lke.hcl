# lkeplan:ignore uncapped-plan-size large pods # want: Ignore comment without effect: Here is nothing that uncapped-plan-size finds fault with.
pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}
