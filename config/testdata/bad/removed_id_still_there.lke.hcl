pool "web" {
  node_class = node_class.default
}

removed {
  from = pool.gone # want: Removed object is still declared: pool.web is declared at removed_id_still_there.lke.hcl:1.
  id   = "web"
}
