pool "web" {
  node_class = node_class.default
  requirements = {
    "karpenter.k8s.linode/instance-clas" = "dedicated" # want: Unknown plan label: Plans have no label "karpenter.k8s.linode/instance-clas", and Karpenter accepts no other labels in this domain. Did you mean "instance-class"? Its short name in requirements is class.
  }
}
