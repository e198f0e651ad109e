pool "web" {
  name       = "www"
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.web # want: Move without effect: pool.web has a name of its own, "www", so this block does nothing and can be removed.
}
