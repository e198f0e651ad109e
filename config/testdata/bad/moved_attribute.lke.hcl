pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.a.limits # want: Invalid address:
  to   = pool.web
}
