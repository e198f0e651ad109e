pool "web" {
  node_class = node_class.default
}

pool "web" { # want: Name used twice: There is a pool named "web" already, at name_label_twice.lke.hcl:1.
  node_class = node_class.default
}
