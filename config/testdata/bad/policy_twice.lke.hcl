policy "p" {
  condition     = plan.nodes.rolled < 4
  error_message = "No."
}

policy "p" { # want: Duplicate name: A policy named "p" was already declared at policy_twice.lke.hcl:1.
  condition     = plan.nodes.deleted < 4
  error_message = "No."
}
