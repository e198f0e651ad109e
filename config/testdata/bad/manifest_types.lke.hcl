pool "a" {
  node_class = node_class.default
  manifest   = { spec = "x" } # want: Wrong type of value: spec is a map of fields. Write the fields below it that the object is to have, or remove it.
}

pool "b" {
  node_class = node_class.default
  manifest   = { metadata = null } # want: Wrong type of value: metadata is a map of fields. Write the fields below it that the object is to have, or remove it.
}

node_class "other" {
  manifest = { metadata = { labels = [1] } } # want: Wrong type of value: metadata.labels is a map of fields. Write the fields below it that the object is to have, or remove it.
}
