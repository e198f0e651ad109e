pool "web" {
  name       = "www"
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.web # want: Move without effect: pool.web sets its own name, "www", so this block has no effect. Delete it.
}
