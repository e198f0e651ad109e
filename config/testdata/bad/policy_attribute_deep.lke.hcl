policy "p" {
  condition     = plan.nodes.roled < 4 # want: Unsupported attribute: This object does not have an attribute named "roled". Did you mean "rolled"?
  error_message = "No."
}
