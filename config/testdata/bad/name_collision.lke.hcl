pool "web" {
  node_class = node_class.default
  for_each   = toset(["a"])
}

pool "web-a" { # want: Duplicate object name: pool.web-a and pool.web["a"] (name_collision.lke.hcl:1) would both be the NodePool "web-a". Set another name for one of them.
  node_class = node_class.default
}
