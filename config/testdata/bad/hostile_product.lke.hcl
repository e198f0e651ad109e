pool "web" {
  node_class = node_class.default
  weight     = 1e30 * 1e30 # want: Operation failed: The operation has no result: the result contains a number out of range.
}
