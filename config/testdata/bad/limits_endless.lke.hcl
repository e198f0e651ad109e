pool "web" {
  node_class   = node_class.default
  requirements = {}
  limits       = { cpu = "1e999999999" } # want: Invalid amount
}
