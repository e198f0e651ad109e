pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  limits       = { nodes = 3 } # want: Node limit is checked late: Karpenter looks at the number of nodes between its passes only: one burst of pods can make many more than 3 at once.
}
