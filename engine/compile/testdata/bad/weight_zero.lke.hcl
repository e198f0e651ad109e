pool "web" {
  node_class = node_class.default
  weight     = 0 # want: Invalid NodePool: spec.weight: should be greater than or equal to 1.
}
