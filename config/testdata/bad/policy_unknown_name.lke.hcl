policy "p" {
  condition     = pla.nodes.rolled < 4 # want: Unknown name: There is nothing named "pla" here. Did you mean "plan"?
  error_message = "No."
}
