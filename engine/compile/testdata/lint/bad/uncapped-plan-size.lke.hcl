pool "web" { # want: Size of plans is not capped: Nothing caps the size of a node, so the pool may buy up to a g7-premium-56 for $2765 a month when many pods wait.
  node_class = node_class.default
}
