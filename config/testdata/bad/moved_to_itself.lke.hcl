pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.web
  to   = pool.web # want: Moves in a circle: Each of these would have the name of the one before it: pool.web → pool.web.
}
