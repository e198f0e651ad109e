policy "p" {
  condition     = plan.nodes.rolled < 4
  error_message = "It rolls ${plan.rolled}." # want: Unsupported attribute: This object does not have an attribute named "rolled".
}
