pool "web" {
  node_class = node_class.default
  enabled    = "maybe" # want: Wrong type of value: The argument enabled must be true or false.
}
