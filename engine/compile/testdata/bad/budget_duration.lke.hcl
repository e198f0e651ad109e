pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "0 1 * * *"
      duration = "1h30m10s" # want: Invalid NodePool: spec.disruption.budgets[0].duration: "1h30m10s" is not valid for duration: How long the budget applies from then on, in hours and minutes such as "8h" or "1h30m".
    }
  }
}
