pool "web" {
  node_class = node_class.default
  manifest   = "x" # want: Wrong type of value: The argument manifest takes a map of fields
}
