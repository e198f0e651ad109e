pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(4, 8) }
  limits       = { cpu = 6 } # want: Limits block the replacement of a node: The limit of 6 allows only one node: the smallest plan type that the pool allows, g6-standard-4, has 4 CPUs. Karpenter creates a replacement before it removes a node, and the limit forbids that, so a change of the pool never reaches its node. Raise the limit to at least 8 CPUs, the size of two such nodes. More: lkeplan explain limits-block-a-roll.
}
