pool "web" {
  node_class = node_class.default

  disruption { # want: Invalid NodePool: spec.disruption.budgets: 'schedule' must be set with 'duration'.
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "0 1 * * *"
    }
  }
}
