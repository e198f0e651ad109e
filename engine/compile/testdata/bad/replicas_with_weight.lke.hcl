pool "web" { # want: Invalid NodePool: spec: 'weight' is not supported on static NodePools.
  node_class = node_class.default
  replicas   = 3
  weight     = 10
}
