pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.web
}

moved {
  from = pool.b
  to   = pool.web # want: Moved twice: pool.web already has the name of pool.a: moved_to_twice.lke.hcl:7.
}
