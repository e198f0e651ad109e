pool "web" {
  node_class = node_class.default
  requirements = {
    cpu                                 = lte(16)
    "karpenter.k8s.aws/instance-family" = "m5"    # want: Label of another provider: The label karpenter.k8s.aws/instance-family belongs to another provider (AWS): no plan of Linode has it, so the requirement matches no plan. The equivalent requirement is class.
    "karpenter.azure.com/sku-storage"   = exists() # want: Label of another provider: The label karpenter.azure.com/sku-storage belongs to another provider (Azure): no plan of Linode has it, so the requirement matches no plan. Labels of Linode's plans are karpenter.k8s.linode/instance-cpu and others; see the reference for their short names.
  }
}

overlay "gen" { # want: Feature that is off by default
  requirements     = { "karpenter.k8s.aws/instance-generation" = 5 } # want: Label of another provider: The label karpenter.k8s.aws/instance-generation belongs to another provider (AWS): no plan of Linode has it, so the requirement matches no plan. The equivalent requirement is generation.
  price_adjustment = "+45%"
}
