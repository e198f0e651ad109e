pool "web" {
  node_class = node_class.default
  requirements = {
    arch = [] # want: Invalid requirement: arch: an empty list allows no value; to allow any value, write null.
  }
}
