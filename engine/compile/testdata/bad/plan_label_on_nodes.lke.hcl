pool "web" {
  node_class = node_class.default
  labels     = { "karpenter.k8s.linode/team" = "web" } # want: Unknown plan label: Plans have no label "karpenter.k8s.linode/team"
}
