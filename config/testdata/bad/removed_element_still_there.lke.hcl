pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

removed {
  from   = pool.team # want: Removed, but still there: pool.team["ml"] is still declared
  delete = false
}
