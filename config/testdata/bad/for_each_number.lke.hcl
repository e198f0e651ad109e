pool "web" {
  node_class = node_class.default
  for_each   = 3 # want: Invalid for_each: The argument for_each takes a map, or a set of strings. This value has the type number.
}
