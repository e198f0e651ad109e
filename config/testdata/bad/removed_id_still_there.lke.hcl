pool "web" {
  node_class = node_class.default
}

removed {
  from = pool.gone # want: Removed, but still there: pool.web is still declared, at removed_id_still_there.lke.hcl:1.
  id   = "web"
}
