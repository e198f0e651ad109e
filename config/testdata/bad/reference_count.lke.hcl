pool "web" {
  node_class = node_class.default
  weight     = count.index # want: Unknown name: There is no count. Repeat a block with for_each, or leave it out with enabled.
}
