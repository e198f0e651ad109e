guards {
  max_rolled_nodes  = "150%" # want: Invalid number of nodes: max_rolled_nodes = "150%" is more than all nodes. 100% bounds nothing.
  max_deleted_nodes = "101%" # want: Invalid number of nodes: max_deleted_nodes = "101%" is more than all nodes.
}
