pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = gte(-1) # want: Invalid requirement: cpu: "-1" is not a whole number.
  }
}
