pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.web
}

moved {
  from = pool.b
  to   = pool.web # want: Moved twice: pool.web has the name of pool.a already: moved_to_twice.lke.hcl:7.
}
