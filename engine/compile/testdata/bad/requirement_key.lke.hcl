pool "web" {
  node_class   = node_class.default
  requirements = { "example.com/a b" = "a" } # want: Invalid NodePool: spec.template.spec.requirements[0].key: should match '
}
