policy "p" {
  condition     = 1 < 2 # want: Constant condition: The condition contains no references, so it is always true or always false.
  error_message = "No."
}
