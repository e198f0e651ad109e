pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(4, 8) }
  limits       = { cpu = 6 } # want: Limits block the replacement of a node: The limit allows one node: the smallest plan that the pool allows, g6-standard-4, has 4 of cpu. A node is replaced by creating the new one first, which the limit of 6 forbids, so a change of the pool never reaches its node.
}
