pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass" } # want: Field has an argument: && Field has an argument: && Not a node class of LKE: The pool refers to a EC2NodeClass of karpenter.k8s.aws
        }
      }
    }
  }
}
