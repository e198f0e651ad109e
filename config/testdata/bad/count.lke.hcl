pool "web" {
  node_class = node_class.default
  count      = 3 # want: Unsupported argument: The argument count does not exist. Repeat the block with for_each, or omit it with enabled.
}
