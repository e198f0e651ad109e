pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.web["a"] # want: No object at this address: pool.web has no for_each, so the element "a" does not exist.
}
