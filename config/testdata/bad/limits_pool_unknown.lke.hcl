pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

limits "all" {
  pools = [pool.teem] # want: Unknown reference: No pool is named "teem" in this directory. Did you mean "team"?
  nodes = 4
}
