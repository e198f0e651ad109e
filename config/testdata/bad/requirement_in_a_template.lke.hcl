pool "web" {
  node_class = node_class.default
  requirements = {
    arch = "x${gte(4)}" # want: Invalid template interpolation value: 
  }
}
