pool "web" {
  for_each   = { "" = 1 } # want: Invalid for_each: One of the keys is empty, but the key is part of the object's name.
  node_class = node_class.default
}
