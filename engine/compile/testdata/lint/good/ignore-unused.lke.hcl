# lkeplan:ignore uncapped-plan-size large pods
# lkeplan:ignore consolidate-before-hour a demonstration
# Comments may come between.
pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "30s"
  }
}
