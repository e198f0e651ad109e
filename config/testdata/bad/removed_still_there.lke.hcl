pool "web" {
  node_class = node_class.default
}

removed {
  from   = pool.web # want: Removed object is still declared: pool.web is declared at removed_still_there.lke.hcl:1. Delete that block or the removed block.
  delete = false
}
