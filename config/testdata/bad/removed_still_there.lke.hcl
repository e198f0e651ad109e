pool "web" {
  node_class = node_class.default
}

removed {
  from   = pool.web # want: Removed, but still there: pool.web is still declared, at removed_still_there.lke.hcl:1. Remove its block, or this one.
  delete = false
}
