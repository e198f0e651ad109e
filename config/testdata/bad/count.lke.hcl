pool "web" {
  node_class = node_class.default
  count      = 3 # want: Unsupported argument: The argument count does not exist. To repeat the block, use for_each. To leave it out, use enabled.
}
