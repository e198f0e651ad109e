pool "web" {
  node_class = node_class.default
}

moved {
  from = pools.a # want: Not an address: The argument from takes the address of an object, written out: pool.web, pool.team["ml"] or module.ml.pool.gpu. There are no objects named pools. Did you mean "pool"?
  to   = pool.web
}
