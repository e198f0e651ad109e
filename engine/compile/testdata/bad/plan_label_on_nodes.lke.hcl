pool "web" {
  node_class = node_class.default
  labels     = { "karpenter.k8s.linode/team" = "web" } # want: Unknown label of a plan type: Plan types have no label "karpenter.k8s.linode/team", and Karpenter accepts only labels of plan types in this domain. More: lkeplan explain unknown-plan-label.
}
