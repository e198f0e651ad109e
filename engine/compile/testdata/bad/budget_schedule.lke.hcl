pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "often" # want: Invalid NodePool: spec.disruption.budgets[0].schedule: should match
      duration = "1h"
    }
  }
}
