pool "web" {
  node_class = node_class.default
  for_each   = { "A b" = 1 }
  name       = "web-${each.key}" # want: Invalid object name: The name of the object would be "web-A b".
}
