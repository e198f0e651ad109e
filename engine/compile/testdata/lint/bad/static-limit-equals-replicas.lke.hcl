pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3
  limits       = { nodes = 3 } # want: Limit blocks the replacement of static nodes: The limit is the number of replicas, 3, so a drifted node has no place for its successor
}
