pool "a" {
  node_class = node_class.default
  manifest   = { spec = "x" } # want: Wrong type of value: spec must be a map of fields. Set fields in it, or delete it.
}

pool "b" {
  node_class = node_class.default
  manifest   = { metadata = null } # want: Wrong type of value: metadata must be a map of fields. Set fields in it, or delete it.
}

node_class "other" {
  manifest = { metadata = { labels = [1] } } # want: Wrong type of value: metadata.labels must be a map of fields. Set fields in it, or delete it.
}
