pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "0 1 * * *"
      duration = "1h30m10s" # want: Invalid NodePool: spec.disruption.budgets[0].duration: should match
    }
  }
}
