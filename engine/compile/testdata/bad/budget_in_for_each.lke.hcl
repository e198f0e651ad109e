pool "web" {
  node_class = node_class.default
  for_each   = { a = "10%", b = "5%5" }

  disruption {
    consolidate_after = "5m"

    budget {
      nodes = each.value # want: Invalid NodePool: The argument nodes is "5%5". Write a number of nodes, such as "3", or a percentage of the pool from "0%" to "100%".
    }
  }
}
