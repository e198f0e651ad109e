pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  limits       = { nodes = 3 } # want: Node limit is checked late: Karpenter compares the number of nodes only between its passes: one burst of pods can make many more than 3 at once.
}
