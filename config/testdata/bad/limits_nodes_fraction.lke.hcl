limits "all" {
  nodes = 1.5 # want: Whole number required: The argument nodes takes a whole number, not 1.5.
}
