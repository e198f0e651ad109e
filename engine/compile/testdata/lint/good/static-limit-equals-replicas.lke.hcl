pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3 # lkeplan:ignore gated-feature StaticCapacity is on
  limits       = { nodes = 4 }
}
