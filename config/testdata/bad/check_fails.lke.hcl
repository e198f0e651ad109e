pool "web" {
  node_class = node_class.default
}

check "capped" {
  assert {
    condition     = alltrue([for name, p in pool : can(p.limits)]) # want: Check failed: Every pool needs limits: web.
    error_message = "Every pool needs limits: ${join(", ", [for name, p in pool : name])}."
  }
}
