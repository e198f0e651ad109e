pool "web" {
  node_class = node_class.default
  weight     = "heavy" # want: Wrong type of value: The argument weight takes a whole number, not text.
}
