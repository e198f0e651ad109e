pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = module.m.pool.web # want: No object at this address: No module is named "m" in this directory.
}
