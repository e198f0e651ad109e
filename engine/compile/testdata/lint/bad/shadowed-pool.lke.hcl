pool "large" {
  node_class   = node_class.default
  requirements = { cpu = lte(16) }
  weight       = 10
}

pool "web" { # want: Pool is never used: Every pod that this pool could take, pool.large takes first: its weight is 10 against 0
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}
