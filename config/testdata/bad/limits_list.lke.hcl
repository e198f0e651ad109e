pool "web" {
  node_class = node_class.default
  limits     = { cpu = [1] } # want: Wrong type of value: The argument limits takes a map of amounts such as
}
