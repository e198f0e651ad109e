pool "web" {
  node_class = node_class.default
}

moved {
  from = pool # want: Invalid address:
  to   = pool.web
}
