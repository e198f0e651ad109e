pool "web" {
  node_class = node_class.default
  in_place   = ["lkeplan.dev/condemned"] # want: Reserved key: The key lkeplan.dev/condemned belongs to lkeplan and cannot change in place. Delete it from in_place.
}
