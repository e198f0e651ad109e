pool "web" {
  node_class = node_class.default
}

moved {
  from = pools.a # want: Invalid address: The argument from takes the literal address of an object: pool.web, pool.team["ml"] or module.ml.pool.gpu. Blocks of type "pools" do not compile to objects. Did you mean "pool"?
  to   = pool.web
}
