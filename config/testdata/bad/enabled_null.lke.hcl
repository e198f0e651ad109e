pool "web" {
  node_class = node_class.default
  enabled    = tobool(yamldecode("enabled:").enabled) # want: Wrong type of value: The argument enabled must be true or false. It is null. To set a value for null, write coalesce(..., true).
}
