guards {
  max_rolled_nodes = "half" # want: Invalid number of nodes: The argument max_rolled_nodes takes a number
}
