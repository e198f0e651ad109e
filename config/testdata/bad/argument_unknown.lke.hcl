pool "web" {
  node_class = node_class.default
  wieght     = 1 # want: Unsupported argument: An argument named "wieght" is not expected here. Did you mean "weight"?
}
