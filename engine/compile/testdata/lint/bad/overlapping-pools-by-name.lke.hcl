pool "team" {
  for_each     = toset(["a", "b", "c"])
  node_class   = node_class.default
  weight       = 3 # want: Pools of equal weight overlap: The same pods can run in this pool and in pool.team["b"] and pool.team["c"], and these pools have the same weight, 3. Karpenter then uses the pool whose name is last in the alphabet: pool.team["c"]. Give the preferred pool a larger weight, or distinguish the pools by taints or labels. More: lkeplan explain overlapping-pools-equal-weight.
  requirements = { cpu = lte(8) }
}
