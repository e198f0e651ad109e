pool "web" {
  node_class = node_class.default
  labels     = { "kubernetes.io/hostname" = "web" } # want: Invalid NodePool: spec.template.metadata.labels: label "kubernetes.io/hostname" is restricted.
}
