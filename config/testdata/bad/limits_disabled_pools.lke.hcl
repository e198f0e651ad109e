pool "off" {
  enabled    = false
  node_class = node_class.default
}

limits "all" {
  pools = [pool.off] # want: No pools: There is no pool in this list.
  nodes = 4
}
