pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = gte("4 cores") # want: Invalid requirement: cpu: "4 cores" is not a whole number.
  }
}
