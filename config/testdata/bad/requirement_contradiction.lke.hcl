pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = all(gt(8), lt(8)) # want: Invalid requirement: cpu: the minimum 9 is above the maximum 7.
  }
}
