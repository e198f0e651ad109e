pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes = 0.2 # want: Invalid NodePool: spec.disruption.budgets[0].nodes: "0.2" is not valid for nodes: A number of nodes, or a percentage of the pool such as "20%".
    }
  }
}
