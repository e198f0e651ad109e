pool "web" {
  node_class = node_class.default
  requirements = {
    cpus = 4 # want: Unknown requirement: There is no short name "cpus". Did you mean "cpu"?
  }
}
