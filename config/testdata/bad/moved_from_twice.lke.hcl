pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.web
}

moved {
  from = pool.a # want: Moved twice: pool.a has already become pool.web: moved_from_twice.lke.hcl:10.
  to   = pool.api
}
