policy "p" {
  condition     = plan.nodes.rolled + 1 # want: Invalid condition: A condition must be true or false.
  error_message = "No."
}
