pool "web" {
  node_class = node_class.default
  for_each   = { "A b" = 1 }
  name       = "web-${each.key}" # want: Invalid object name: The object would be named "web-A b".
}
