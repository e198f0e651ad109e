pool "large" {
  node_class   = node_class.default
  requirements = { cpu = lte(16) }
  weight       = 10
}

pool "web" { # want: Pool is never used: This pool never gets nodes: pool.large takes every pod that could run here. pool.large has a larger weight (10, and this pool has 0), allows the same plan types, and has no limits. Set limits in pool.large, distinguish the pools by taints or labels, or remove this pool. More: lkeplan explain shadowed-pool.
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}
