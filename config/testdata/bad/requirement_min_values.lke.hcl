pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = atleast(0, exists()) # want: Invalid function argument: Invalid value for "n" parameter: a whole number from 1 to 50 is required.
  }
}
