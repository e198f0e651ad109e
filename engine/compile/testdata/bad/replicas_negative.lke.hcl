pool "web" {
  node_class = node_class.default
  replicas   = -1 # want: Invalid NodePool: spec.replicas: should be greater than or equal to 0.
}
