pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.web["a"] # want: Nothing at this address: pool.web has no for_each, so it has no element "a".
}
