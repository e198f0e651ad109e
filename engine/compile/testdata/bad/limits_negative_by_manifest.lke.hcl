pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      limits = { cpu = "-4" } # want: Field has an argument: && Negative amount: cpu = -4 allows nothing, not even existing nodes.
    }
  }
}
