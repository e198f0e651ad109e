pool "web" {
  node_class = node_class.default
  enabled    = true && yamldecode("enabled:").enabled # want: Operation failed: Error during operation: argument must not be null.
}
