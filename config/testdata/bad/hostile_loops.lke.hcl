pool "web" {
  node_class = node_class.default
  labels     = { x = [for a in [1] : [for b in [1] : [for c in [1] : [for d in [1] : 1]]]] } # want: Too many nested loops: For expressions can be nested at most 3 deep.
}
