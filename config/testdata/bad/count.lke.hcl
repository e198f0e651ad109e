pool "web" {
  node_class = node_class.default
  count      = 3 # want: Unsupported argument: An argument named "count" is not expected here.
}
