pool "web" {
  node_class = node_class.default
  labels = { # want: Invalid NodePool: spec.template.metadata.labels: label "karpenter.sh/nodepool" is restricted.
    "karpenter.sh/nodepool" = "web"
  }
}
