pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = all(gt(8), lt(8)) # want: Invalid requirement: cpu: no number is at least 9 and at most 7.
  }
}
