pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          requirements = [{ key = "example.com/tier", operator = "In" }] # want: Field has an argument: && Invalid NodePool: spec.template.spec.requirements: requirements with operator 'In' must have a value defined.
        }
      }
    }
  }
}
