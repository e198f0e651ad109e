pool "web" {
  node_class = node_class.default
  name       = "Web" # want: Invalid object name: The object would be named "Web".
}
