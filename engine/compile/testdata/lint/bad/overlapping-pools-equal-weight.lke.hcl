pool "api" { # want: Pools of equal weight overlap: The same pods can run in this pool and in pool.web, and these pools have the same weight, 0. Karpenter then uses the pool whose name is last in the alphabet: pool.web. Give the preferred pool a larger weight, or distinguish the pools by taints or labels. More: lkeplan explain overlapping-pools-equal-weight.
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}
