pool "web" {
  node_class = node_class.default
  labels     = { team = { name = "web" } } # want: Wrong type of value: The argument labels takes a map of strings. Element "team": string required, not object.
}
