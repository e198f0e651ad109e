pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = between(32, 4) # want: Invalid requirement: cpu: the minimum 32 is above the maximum 4.
  }
}
