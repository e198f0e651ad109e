pool "a" {
  node_class = node_class.default
  weight     = 3
}

locals {
  limits = pool.a.limits # want: Unsupported attribute: This object does not have an attribute named "limits". Existing names: kind, name, node_class, weight.
}
