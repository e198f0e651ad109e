pool "web" {
  node_class = node_class.default
}

moved {
  from = pool # want: Not an address:
  to   = pool.web
}
