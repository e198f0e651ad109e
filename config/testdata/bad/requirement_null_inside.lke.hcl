pool "web" {
  node_class = node_class.default
  requirements = {
    arch = ["amd64", null] # want: Invalid requirement: arch: null cannot be compared; remove it.
  }
}
