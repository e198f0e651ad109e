module sandbox.invalid/karpenter

go 1.26.9

require sigs.k8s.io/karpenter v1.15.0
