pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes   = 1
      reasons = ["Drifed"] # want: Invalid NodePool: spec.disruption.budgets[0].reasons[0]: "Drifed" is not a supported value; supported values: "Underutilized", "Empty", "Drifted", "Unhealthy". Did you mean "Drifted"?
    }
  }
}
