pool "web" {
  node_class = node_class.default
  enabled    = yamldecode("enabled:").enabled && true # want: Operation failed: An operand is null, and an operation needs a value.
}
