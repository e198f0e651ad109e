pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.web
  to   = pool.web # want: Moves in a cycle: Each of these addresses would get the name of the previous one: pool.web → pool.web.
}
