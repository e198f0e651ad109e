pool "web" { # want: Size of nodes has no maximum: The requirements do not limit the size of nodes, so the pool may buy nodes up to g7-premium-56, for $2765 a month each, when many pods are pending. One large node is harder to fill and to drain than several small ones. Add a maximum, such as cpu = lte(16). More: lkeplan explain uncapped-plan-size.
  node_class = node_class.default
}
