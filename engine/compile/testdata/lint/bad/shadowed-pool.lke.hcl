pool "large" {
  node_class   = node_class.default
  requirements = { cpu = lte(16) }
  weight       = 10
}

pool "web" { # want: Pool is never used: pool.large takes every pod that fits in this pool: its weight is 10, compared with 0, it allows the same plans, and it has no limit. This pool never gets nodes.
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}
