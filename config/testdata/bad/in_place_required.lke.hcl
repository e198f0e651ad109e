pool "web" {
  node_class   = node_class.default
  labels       = { "example.com/team" = "web" }
  requirements = { "example.com/team" = ["web"] }
  in_place     = ["example.com/team"] # want: Key of a requirement: The pool requires the label example.com/team, so a change of it replaces nodes. Delete it from in_place or from requirements.
}
