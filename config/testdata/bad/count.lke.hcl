pool "web" {
  node_class = node_class.default
  count      = 3 # want: Unsupported argument: There is no count. Repeat the block with for_each, or leave it out with enabled.
}
