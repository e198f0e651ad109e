pool "web" {
  node_class = node_class.default
  enabled    = yamldecode("enabled:").enabled && true # want: Operation failed: A value in the operation is null, and no operation is possible with null.
}
