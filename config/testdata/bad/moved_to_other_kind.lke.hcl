pool "web" {
  node_class = node_class.default
}

moved {
  from = node_class.web
  to   = pool.web # want: Move to another kind: A node_class cannot become a pool.
}
