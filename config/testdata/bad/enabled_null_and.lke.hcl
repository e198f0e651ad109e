pool "web" {
  node_class = node_class.default
  enabled    = true && yamldecode("enabled:").enabled # want: Operation failed: An operand is null, and an operation needs a value.
}
