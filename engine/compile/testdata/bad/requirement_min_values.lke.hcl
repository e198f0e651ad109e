pool "web" {
  node_class = node_class.default
  requirements = { # want: Invalid NodePool: spec.template.spec.requirements: requirements with 'minValues' must have at least that many values
    cpu           = gte(4)
    instance_type = atleast(3, ["a", "b"])
  }
}
