pool "web" { # want: Invalid NodePool: A pool with replicas cannot have a weight. Delete weight or replicas.
  node_class = node_class.default
  replicas   = 3
  weight     = 10
}
