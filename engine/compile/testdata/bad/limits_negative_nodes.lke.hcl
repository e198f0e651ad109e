limits "all" {
  nodes = -1 # want: Invalid CapacityLimit: spec.nodes: should be greater than or equal to 0.
}
