pool "web" {
  node_class = node_class.default
  requirements = {
    arch                       = "amd64"
    "karpenter.sh/initialized" = "true" # want: Invalid NodePool: spec.template.spec.requirements[1].key: label domain "karpenter.sh" is restricted.
  }
}
