pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = node_class.default
}

moved {
  from = pool.web
  to   = pool.api # want: Moves in a circle: Each of these would have the name of the one before it: pool.web → pool.api → pool.web.
}

moved {
  from = pool.api
  to   = pool.web
}
