policy "p" {
  condition     = plan.node.rolled < 4 # want: Unsupported attribute: This object does not have an attribute named "node". Did you mean "nodes"?
  error_message = "No."
}
