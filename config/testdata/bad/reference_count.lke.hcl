pool "web" {
  node_class = node_class.default
  weight     = count.index # want: Unknown name: The argument count does not exist. Repeat a block with for_each, or omit it with enabled.
}
