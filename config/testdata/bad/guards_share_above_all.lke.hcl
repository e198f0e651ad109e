guards {
  max_rolled_nodes  = "150%" # want: Invalid number of nodes: max_rolled_nodes = "150%" is more than all nodes. For no limit, write "100%".
  max_deleted_nodes = "101%" # want: Invalid number of nodes: max_deleted_nodes = "101%" is more than all nodes.
}
