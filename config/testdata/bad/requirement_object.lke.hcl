pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = { gte = 4 } # want: Invalid requirement: cpu:
  }
}
