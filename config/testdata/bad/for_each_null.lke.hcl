pool "web" {
  node_class = node_class.default
  for_each   = null # want: Invalid for_each: The argument for_each takes a map, or a set of strings. This value is null. For no objects, write an empty map.
}
