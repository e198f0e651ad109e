pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = between(32, 4) # want: Invalid requirement: cpu: no number is at least 32 and at most 4.
  }
}
