pool "web" {
  node_class   = node_class.default
  requirements = { "example.com/a b" = "a" } # want: Invalid NodePool: spec.template.spec.requirements[0].key: "example.com/a b" is not valid for requirements: The plan types and nodes that the pool can use.
}
