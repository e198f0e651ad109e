pool "web" {
  node_class = node_class.default
  requirements = {
    arch = [] # want: Invalid requirement: arch: an empty list allows nothing; to leave the key open, write null.
  }
}
