pool "web" {
  node_class = node_class.default
  for_each   = { a = "10%", b = "5%5" }

  disruption {
    consolidate_after = "5m"

    budget {
      nodes = each.value # want: Invalid NodePool: spec.disruption.budgets[0].nodes: "5%5" is not valid for nodes: A number of nodes, or a percentage of the pool such as "20%".
    }
  }
}
