pool "web" {
  node_class = node_class.default
  manifest   = { metadata = { name = "other" } } # want: Field cannot be set: metadata.name is what the object is known by. Use the block type and the argument name.
}
