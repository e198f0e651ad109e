pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(4, 8) }
  limits       = { cpu = 8 }
}
