locals {
  weight = pool.web.weight + 1 # want: Values refer to each other in a cycle: None of these values can be computed, because each needs the next: local.weight (reference_cycle_through_a_pool.lke.hcl:2) → pool.web (reference_cycle_through_a_pool.lke.hcl:5) → local.weight.
}

pool "web" {
  node_class = node_class.default
  weight     = local.weight
}
