pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes = 0.2 # want: Invalid NodePool: The argument nodes is "0.2". Write a number of nodes, such as "3", or a percentage of the pool from "0%" to "100%".
    }
  }
}
