pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass" } # want: Field with an argument of its own: && Field with an argument of its own: && Not a node class of LKE: The pool refers to a EC2NodeClass of karpenter.k8s.aws
        }
      }
    }
  }
}
