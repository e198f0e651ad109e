removed {
  from   = "web" # want: Invalid address: The argument from takes the literal address of an object: pool.web, pool.team["ml"] or module.ml.pool.gpu.
  delete = true
}
