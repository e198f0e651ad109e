policy "p" {
  condition     = plan.nodes.rolled < 4
  error_message = ["no"] # want: Invalid error message: The error message must be a string: string required, but have tuple.
}
