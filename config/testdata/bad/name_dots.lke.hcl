pool "web" {
  node_class = node_class.default
  name       = "web..v2" # want: Invalid object name
}

pool "api" {
  node_class = node_class.default
  name       = "web.-v2" # want: Invalid object name
}
