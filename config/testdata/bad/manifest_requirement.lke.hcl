pool "web" {
  node_class = node_class.default
  manifest   = { spec = { template = { spec = { foo = gte(4) } } } } # want: Requirement in manifest
}
