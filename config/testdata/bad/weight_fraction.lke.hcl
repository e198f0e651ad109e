pool "web" {
  node_class = node_class.default
  weight     = 1.5 # want: Whole number required: The argument weight takes a whole number, not 1.5.
}
