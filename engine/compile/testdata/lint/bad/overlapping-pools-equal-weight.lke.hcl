pool "api" { # want: Pools of equal weight overlap: The same pods can go to this pool and to pool.web, and all have the weight 0. Karpenter then takes the one whose name is last in the alphabet: pool.web.
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}
