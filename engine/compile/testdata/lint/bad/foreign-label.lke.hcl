pool "web" {
  node_class = node_class.default
  requirements = {
    cpu                                 = lte(16)
    "karpenter.k8s.aws/instance-family" = "m5"    # want: Label of another provider: The label karpenter.k8s.aws/instance-family is one of another cloud's provider (AWS): no plan of Linode has it, and it selects none. The equivalent requirement is class.
    "karpenter.azure.com/sku-storage"   = exists() # want: Label of another provider: The label karpenter.azure.com/sku-storage is one of another cloud's provider
  }
}

overlay "gen" { # want: Feature that is off by default
  requirements     = { "karpenter.k8s.aws/instance-generation" = 5 } # want: Label of another provider: The label karpenter.k8s.aws/instance-generation is one of another cloud's provider (AWS): no plan of Linode has it, and it selects none. The equivalent requirement is generation.
  price_adjustment = "+45%"
}
