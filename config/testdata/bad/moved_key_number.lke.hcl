pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.team[0] # want: Invalid address: The argument to takes the literal address of an object: pool.web, pool.team["ml"] or module.ml.pool.gpu.
}
