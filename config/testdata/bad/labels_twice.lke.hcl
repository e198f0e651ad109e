pool "web" {
  node_class = node_class.default
  labels     = { "team" = "a", team = "b" } # want: Duplicate key: The object already has the key "team", on line 3, and only the last one would count.
}
