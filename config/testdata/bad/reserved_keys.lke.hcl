pool "hashed" {
  node_class = node_class.default
  metadata {
    annotations = { "karpenter.sh/nodepool-hash" = "1" } # want: Reserved key: metadata.annotations sets karpenter.sh/nodepool-hash, which belongs to Karpenter. Remove it.
  }
}

pool "applied" {
  node_class = node_class.default
  manifest   = { metadata = { annotations = { "kubectl.kubernetes.io/last-applied-configuration" = "{}" } } } # want: Reserved key: metadata.annotations sets kubectl.kubernetes.io/last-applied-configuration, which belongs to Kubernetes. Remove it.
}

node_class "inventory" {
  metadata {
    labels = { "lkeplan.dev/part-of" = "another" } # want: Reserved key: metadata.labels sets lkeplan.dev/part-of, which belongs to lkeplan. Remove it.
  }
}

node_class "fine" {
  metadata {
    labels      = { "app.kubernetes.io/part-of" = "fleet" }
    annotations = { "example.com/karpenter.sh" = "yes" }
  }
}

pool "drained" {
  node_class  = node_class.default
  annotations = { "lkeplan.dev/orphaned" = "delete" } # want: Reserved key: spec.template.metadata.annotations sets lkeplan.dev/orphaned, which belongs to lkeplan. Remove it.
}
