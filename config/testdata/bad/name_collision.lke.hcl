pool "web" {
  node_class = node_class.default
  for_each   = toset(["a"])
}

pool "web-a" { # want: Object name used twice: pool.web-a and pool.web["a"] (name_collision.lke.hcl:1) would both be the NodePool "web-a". Give one of them another name.
  node_class = node_class.default
}
