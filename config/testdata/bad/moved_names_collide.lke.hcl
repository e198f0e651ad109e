pool "web" {
  node_class = node_class.default
}

pool "team" {
  for_each   = toset(["ml"])
  node_class = node_class.default
}

moved {
  from = pool.web # want: Moved object is still declared: pool.web is declared at moved_names_collide.lke.hcl:1 and keeps its name.
  to   = pool.team["ml"]
}
