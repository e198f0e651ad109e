pool "web" {
  node_class = node_class.default
  weight     = 1e1000000 # want: Number out of range: This number is too large or too small.
}
