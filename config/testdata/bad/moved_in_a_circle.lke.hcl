pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = node_class.default
}

moved {
  from = pool.web
  to   = pool.api # want: Moves in a cycle: Each of these addresses would get the name of the previous one: pool.web → pool.api → pool.web.
}

moved {
  from = pool.api
  to   = pool.web
}
