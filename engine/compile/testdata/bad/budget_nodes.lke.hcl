pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes = "200%" # want: Invalid NodePool: spec.disruption.budgets[0].nodes: "200%" is not valid for nodes: A number of nodes, or a percentage of the pool such as "20%". The pattern is '^((100|[0-9]{1,2})%|[0-9]+)$'.
    }
  }
}
