pool "web" {
  node_class = node_class.default
  requirements = {
    "karpenter.k8s.linode/instance-clas" = "dedicated" # want: Unknown label of a plan type: Plan types have no label "karpenter.k8s.linode/instance-clas", and Karpenter accepts only labels of plan types in this domain. Did you mean "instance-class"? Its short name in requirements is class. More: lkeplan explain unknown-plan-label.
  }
}
