pool "web" {
  node_class = node_class.default
  name       = "Web" # want: Invalid object name: The name of the object would be "Web".
}
