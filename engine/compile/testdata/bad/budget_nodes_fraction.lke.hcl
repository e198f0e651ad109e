pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes = 0.2 # want: Invalid NodePool: spec.disruption.budgets[0].nodes: should match
    }
  }
}
