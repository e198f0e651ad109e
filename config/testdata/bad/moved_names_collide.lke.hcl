pool "web" {
  node_class = node_class.default
}

pool "team" {
  for_each   = toset(["ml"])
  node_class = node_class.default
}

moved {
  from = pool.web # want: Moved, but still there: pool.web is still declared
  to   = pool.team["ml"]
}
