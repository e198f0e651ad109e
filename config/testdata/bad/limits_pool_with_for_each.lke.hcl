pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

limits "all" {
  pools = [pool.team] # want: Invalid pool: A reference to one pool is required, such as pool.general. For all elements of a pool with for_each, write values(pool.team).
  nodes = 4
}
