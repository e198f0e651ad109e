policy "p" {
  condition     = plan.nodes # want: Invalid condition: A condition must be true or false.
  error_message = "No."
}
