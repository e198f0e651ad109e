pool "a" {
  for_each   = toset(["a", "b"])
  node_class = node_class.default
}

locals {
  c = pool.a["c"] # want: Invalid index: The given key does not identify an element in this collection value. Existing names: a, b.
}
