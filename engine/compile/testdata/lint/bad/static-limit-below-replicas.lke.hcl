pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3
  limits       = { nodes = 2 } # want: Limit blocks the replacement of static nodes: The limit of 2 is less than the 3 replicas, and leaves no capacity to replace drifted nodes. Make the limit larger than replicas. More: lkeplan explain static-limit-equals-replicas.
}
