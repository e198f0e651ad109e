limits "all" {
  pools = [] # want: No pools: There is no pool in this list.
  nodes = 4
}
