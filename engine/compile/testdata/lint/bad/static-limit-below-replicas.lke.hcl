pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3
  limits       = { nodes = 2 } # want: Limit blocks the replacement of static nodes: The limit of 2 comes before the 3 replicas are there
}
