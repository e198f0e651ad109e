pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          taintz = [] # want: Invalid NodePool: spec.template.spec.taintz: there is no such field.
        }
      }
    }
  }
}
