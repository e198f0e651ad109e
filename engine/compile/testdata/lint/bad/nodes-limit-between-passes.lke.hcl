pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  limits       = { nodes = 3 } # want: Node limit is checked late: Karpenter checks the number of nodes only between scheduling passes, so many pending pods can create many more nodes than 3 at the same time. Add a limit on cpu or memory, which Karpenter checks for each new node. More: lkeplan explain nodes-limit-between-passes.
}
