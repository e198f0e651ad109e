pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3
  limits       = { nodes = 3 } # want: Limit blocks the replacement of static nodes: The limit equals the number of replicas, 3. Karpenter creates a replacement before it removes a drifted node, and the limit forbids that, so a change of the pool never reaches its nodes. Raise the limit by the number of nodes to replace at the same time. More: lkeplan explain static-limit-equals-replicas.
}
