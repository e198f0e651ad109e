pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = module.m.pool.web # want: Nothing at this address: There is no module named "m" in this directory.
}
