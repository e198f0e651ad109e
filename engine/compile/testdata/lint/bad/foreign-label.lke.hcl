pool "web" {
  node_class = node_class.default
  requirements = {
    cpu                                 = lte(16)
    "karpenter.k8s.aws/instance-family" = "m5"    # want: Label of another provider: The label karpenter.k8s.aws/instance-family belongs to another provider (AWS): no plan type of Linode has it, so the requirement does not select plan types. "lkeplan explain pool.requirements" lists the labels of plan types. More: lkeplan explain foreign-label.
    "karpenter.azure.com/sku-storage"   = exists() # want: Label of another provider: The label karpenter.azure.com/sku-storage belongs to another provider (Azure): no plan type of Linode has it, so the requirement does not select plan types. "lkeplan explain pool.requirements" lists the labels of plan types. More: lkeplan explain foreign-label.
  }
}

overlay "gen" { # want: Feature that is off by default
  requirements     = { "karpenter.k8s.aws/instance-generation" = 5 } # want: Label of another provider: The label karpenter.k8s.aws/instance-generation belongs to another provider (AWS): no plan type of Linode has it, so the requirement does not select plan types. "lkeplan explain pool.requirements" lists the labels of plan types. More: lkeplan explain foreign-label.
  price_adjustment = "+45%"
}
