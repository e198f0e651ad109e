pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  replicas     = 3 # want: Feature that is off by default: Pools with replicas need Karpenter's feature gate StaticCapacity; without it the pool is ignored, silently. It is off by default; start the controller with --feature-gates=StaticCapacity=true, or silence this where it is.
}
