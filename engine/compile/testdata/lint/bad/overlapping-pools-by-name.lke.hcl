pool "team" {
  for_each     = toset(["a", "b", "c"])
  node_class   = node_class.default
  weight       = 3 # want: Pools of equal weight overlap: The same pods can go to this pool and to pool.team["b"] and pool.team["c"], and all have the weight 3. Karpenter then takes the one whose name is last in the alphabet: pool.team["c"].
  requirements = { cpu = lte(8) }
}
