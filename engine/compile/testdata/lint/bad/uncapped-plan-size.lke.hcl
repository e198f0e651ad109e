pool "web" { # want: Size of plans is not capped: The size of nodes is not capped, so the pool may buy up to a g7-premium-56 for $2765 a month when many pods are pending. One large node is harder to fill and to drain than several small ones. Add a cap such as cpu = lte(16).
  node_class = node_class.default
}
