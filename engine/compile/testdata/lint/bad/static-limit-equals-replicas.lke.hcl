pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3
  limits       = { nodes = 3 } # want: Limit blocks the replacement of static nodes: The limit equals the number of replicas, 3, so a drifted node cannot get a replacement, which is created first: changes of the pool never reach its nodes. Raise the limit by the number of nodes to replace at a time.
}
