policy "a" {
  condition     = plan.cost.foo < 3 # want: Unsupported attribute: This object does not have an attribute named "foo". Existing names: ceiling, current, floor.
  error_message = "No."
}
