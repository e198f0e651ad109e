pool "web" {
  node_class = node_class.default
  manifest   = { spec = { futureField = true } } # want: Invalid NodePool: spec.futureField: there is no such field.
}
