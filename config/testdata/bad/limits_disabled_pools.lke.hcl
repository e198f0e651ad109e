pool "off" {
  enabled    = false
  node_class = node_class.default
}

limits "all" {
  pools = [pool.off] # want: Empty list of pools: The list contains no pools.
  nodes = 4
}
