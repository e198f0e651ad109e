pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  limits       = { nodes = 1000, cpu = 4000 } # want: Node limit is never reached: A standard LKE cluster allows 250 nodes, so the pool never reaches its limit of 1k: LKE refuses the next node first. Write 250 or less. More: lkeplan explain nodes-limit-unreachable.
}
