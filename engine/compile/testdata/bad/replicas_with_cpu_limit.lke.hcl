pool "web" { # want: Invalid NodePool: A pool with replicas can limit only its nodes, as in limits = { nodes = 10 }. Delete the other limits, or replicas.
  node_class = node_class.default
  replicas   = 3
  limits     = { cpu = 4 }
}
