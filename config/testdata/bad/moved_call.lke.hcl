pool "web" {
  node_class = node_class.default
}

moved {
  from = one(["pool.a"]) # want: Invalid address: The argument from takes the literal address of an object: pool.web, pool.team["ml"] or module.ml.pool.gpu.
  to   = pool.web
}
