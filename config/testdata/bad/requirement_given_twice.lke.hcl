pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = gte(4)
    cpu = lt(9) # want: Duplicate key: The object already has the key "cpu", on line 4, and only the last one would count.
  }
}
