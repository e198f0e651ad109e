pool "web" {
  node_class = node_class.default
  labels     = { "example.com/team" = "web" }
  in_place   = ["example.com/taem"] # want: Unknown key: The pool sets no label or annotation example.com/taem. Add it to labels or annotations, or delete it from in_place.
}
