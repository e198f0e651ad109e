pool "web" {
  node_class = node_class.default
  manifest   = { metadata = { name = "other" } } # want: Field cannot be set: metadata.name identifies the object. It is set by the block type and the argument name.
}
