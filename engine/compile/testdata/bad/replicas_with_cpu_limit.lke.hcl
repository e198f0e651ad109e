pool "web" { # want: Invalid NodePool: spec: only 'limits.nodes' is supported on static NodePools.
  node_class = node_class.default
  replicas   = 3
  limits     = { cpu = 4 }
}
