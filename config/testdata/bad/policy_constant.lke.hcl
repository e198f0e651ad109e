policy "p" {
  condition     = 1 < 2 # want: Condition that never changes: The condition refers to nothing
  error_message = "No."
}
