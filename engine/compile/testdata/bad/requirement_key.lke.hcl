pool "web" {
  node_class   = node_class.default
  requirements = { "example.com/a b" = "a" } # want: Invalid NodePool: The argument requirements is "example.com/a b". It must match the pattern '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'.
}
