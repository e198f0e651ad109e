pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass" } # want: Field has an argument: && Field has an argument: && Node class of another provider: The pool refers to a node class of kind EC2NodeClass in the API group karpenter.k8s.aws. lkeplan does not create nodes from this kind, and Karpenter would ignore the pool. Refer to a LinodeNodeClass of karpenter.k8s.linode. More: lkeplan explain other-node-class.
        }
      }
    }
  }
}
