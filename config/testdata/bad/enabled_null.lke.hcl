pool "web" {
  node_class = node_class.default
  enabled    = tobool(yamldecode("enabled:").enabled) # want: Wrong type of value: The argument enabled is true or false. It is null; coalesce(..., true) gives it a value.
}
