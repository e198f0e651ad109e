limits "all" {
  pools = [] # want: Empty list of pools: The list contains no pools.
  nodes = 4
}
