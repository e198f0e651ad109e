policy "p" { # want: Missing required argument: The argument "error_message" is required
  condition = plan.nodes.rolled < 4
}
