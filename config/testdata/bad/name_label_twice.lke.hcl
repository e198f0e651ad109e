pool "web" {
  node_class = node_class.default
}

pool "web" { # want: Duplicate name: A pool named "web" was already declared at name_label_twice.lke.hcl:1.
  node_class = node_class.default
}
