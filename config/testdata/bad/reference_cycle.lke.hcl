locals {
  a = local.b # want: Values refer to each other in a cycle: None of these values can be computed, because each needs the next: local.a (reference_cycle.lke.hcl:2) → local.b (reference_cycle.lke.hcl:3) → local.c (reference_cycle.lke.hcl:4) → local.a.
  b = "${local.c}-b"
  c = "${local.a}-c"
}
