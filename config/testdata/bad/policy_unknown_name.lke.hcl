policy "p" {
  condition     = pla.nodes.rolled < 4 # want: Unknown name: The name "pla" is not declared. Did you mean "plan"?
  error_message = "No."
}
