policy "p" {
  condition     = plan.nodes.rolled < 4
  error_message = "No."
}

policy "p" { # want: Name used twice: There is a policy named "p" already, at policy_twice.lke.hcl:1.
  condition     = plan.nodes.deleted < 4
  error_message = "No."
}
