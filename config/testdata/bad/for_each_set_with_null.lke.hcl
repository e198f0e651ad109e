pool "web" {
  node_class = node_class.default
  for_each   = toset(["a", null]) # want: Invalid for_each: The argument for_each takes a map, or a set of strings. An element of the set is null. To omit null elements, write compact([...]).
}
