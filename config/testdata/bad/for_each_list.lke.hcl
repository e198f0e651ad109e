pool "web" {
  node_class = node_class.default
  for_each   = ["a", "b"] # want: Invalid for_each: The argument for_each takes a map, or a set of strings. This value is a list, whose elements have no keys: removing one would change the identity of others. Write toset([...]).
}
