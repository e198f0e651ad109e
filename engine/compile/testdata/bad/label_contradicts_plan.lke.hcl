pool "web" {
  node_class   = node_class.default
  requirements = { cpu = gte(4) }
  labels       = { "karpenter.k8s.linode/instance-cpu" = "2" } # want: Label contradicts requirement
}
