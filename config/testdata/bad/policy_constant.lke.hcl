policy "p" {
  condition     = 1 < 2 # want: Constant condition: The condition contains no references, so it checks nothing. Refer to the value that it must check, such as plan.nodes.deleted.
  error_message = "No."
}
