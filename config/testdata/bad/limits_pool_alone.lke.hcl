pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

limits "all" {
  pools = pool.team["ml"] # want: Invalid list of pools: The argument pools takes a list of references, such as [pool.general].
  nodes = 4
}
