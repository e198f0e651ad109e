pool "web" { # want: Invalid NodePool: In a pool with replicas, limits can contain only the number of nodes, as in limits = { nodes = 10 }. Delete the other limits, or replicas.
  node_class = node_class.default
  replicas   = 3
  limits     = { cpu = 4 }
}
