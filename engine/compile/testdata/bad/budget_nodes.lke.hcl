pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes = "200%" # want: Invalid NodePool: spec.disruption.budgets[0].nodes: should match '^((100|[0-9]{1,2})%|[0-9]+)$'. In words, nodes is: A number of nodes, or a share of the pool such as "20%".
    }
  }
}
