overlay "cheap" { # want: Overlay that Karpenter refuses: Karpenter would not use the overlay: invalid value: using label karpenter.k8s.linode/instance-cost is not allowed
  requirements = { "karpenter.k8s.linode/instance-cost" = "1" }
  price        = "0.1"
}
