pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  limits       = { nodes = 3 } # want: Node limit is checked late: Karpenter checks the number of nodes only between scheduling passes: one burst of pods can create many more than 3. Karpenter counts CPU and memory for each node; add a limit on one of them, such as cpu.
}
