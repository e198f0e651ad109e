pool "web" {
  node_class = node_class.default
  enabled    = yamldecode("enabled:").enabled && true # want: Operation failed: Error during operation: argument must not be null.
}
