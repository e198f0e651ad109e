pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3
}
