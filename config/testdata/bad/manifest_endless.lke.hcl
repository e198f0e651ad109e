pool "web" {
  node_class   = node_class.default
  requirements = {}

  manifest = { spec = { someday = { cpu = "1e999999999" } } } # want: Amount out of range: spec.someday.cpu has too many digits.
}
