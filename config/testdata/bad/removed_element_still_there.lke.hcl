pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

removed {
  from   = pool.team # want: Removed object is still declared: pool.team["ml"] is declared at removed_element_still_there.lke.hcl:1.
  delete = false
}
