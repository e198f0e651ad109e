pool "web" {
  node_class = node_class.default
  labels     = { "team" = "a", team = "b" } # want: Key given twice: "team" is in this object already
}
