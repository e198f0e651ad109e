pool "web" {
  node_class = node_class.default
  requirements = {
    "karpenter.k8s.linode/instance-clas" = "dedicated" # want: Unknown plan label: Plans have no label "karpenter.k8s.linode/instance-clas", and Karpenter takes no other in this domain. Did you mean "instance-class"? In requirements its short name is class.
  }
}
