pool "web" { # want: Values refer to each other in a cycle: None of these values can be computed, because each needs the next: pool.web (reference_to_itself.lke.hcl:1) → pool.web.
  node_class = node_class.default
  labels     = { name = pool.web.name }
}
