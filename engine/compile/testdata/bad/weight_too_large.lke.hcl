pool "web" {
  node_class = node_class.default
  weight     = 1000 # want: Invalid NodePool: spec.weight: should be less than or equal to 100.
}
