pool "hashed" {
  node_class = node_class.default
  metadata {
    annotations = { "karpenter.sh/nodepool-hash" = "1" } # want: Reserved key: metadata.annotations sets karpenter.sh/nodepool-hash, which belongs to Karpenter. Delete it.
  }
}

pool "applied" {
  node_class = node_class.default
  manifest   = { metadata = { annotations = { "kubectl.kubernetes.io/last-applied-configuration" = "{}" } } } # want: Reserved key: metadata.annotations sets kubectl.kubernetes.io/last-applied-configuration, which belongs to kubectl. Delete it.
}

node_class "inventory" {
  metadata {
    labels = { "lkeplan.dev/part-of" = "another" } # want: Reserved key: metadata.labels sets lkeplan.dev/part-of, which belongs to lkeplan. Delete it.
  }
}

node_class "fine" {
  metadata {
    labels = { "app.kubernetes.io/part-of" = "fleet", "topology.kubernetes.io/zone" = "us-ord" }
    annotations = {
      "example.com/karpenter.sh"                                  = "yes"
      "kubernetes.io/description"                                 = "For all pools"
      "config.kubernetes.io/origin"                               = "path: a.yaml"
      "compatibility.karpenter.sh/v1beta1-nodeclass-reference"    = "{}"
    }
  }
}

pool "in_a_set" {
  node_class = node_class.default
  metadata {
    labels = { "applyset.kubernetes.io/part-of" = "applyset-a-v1" } # want: Reserved key: metadata.labels sets applyset.kubernetes.io/part-of, which belongs to kubectl. Delete it.
  }
}

pool "drained" {
  node_class  = node_class.default
  annotations = { "lkeplan.dev/orphaned" = "delete" } # want: Reserved key: spec.template.metadata.annotations sets lkeplan.dev/orphaned, which belongs to lkeplan. Delete it.
}

pool "made_again" {
  node_class = node_class.default
  metadata {
    annotations = { "argocd.argoproj.io/hook" = "Sync" } # want: Reserved key: metadata.annotations sets argocd.argoproj.io/hook, which belongs to Argo CD. Delete it.
  }
}

pool "replaced" {
  node_class = node_class.default
  metadata {
    annotations = { "argocd.argoproj.io/sync-options" = "Validate=false, Replace=true" } # want: Reserved key: metadata.annotations sets argocd.argoproj.io/sync-options = "Validate=false, Replace=true", which belongs to Argo CD. Delete it.
  }
}

pool "pruned" {
  node_class = node_class.default
  metadata {
    annotations = { "argocd.argoproj.io/sync-options" = "Prune=true" } # want: Reserved key: metadata.annotations sets argocd.argoproj.io/sync-options = "Prune=true", which belongs to Argo CD. Delete it.
  }
}

pool "forced" {
  node_class = node_class.default
  metadata {
    annotations = { "kustomize.toolkit.fluxcd.io/force" = "enabled" } # want: Reserved key: metadata.annotations sets kustomize.toolkit.fluxcd.io/force, which belongs to Flux. Delete it.
  }
}

pool "hooked" {
  node_class = node_class.default
  manifest   = { metadata = { annotations = { "helm.sh/hook" = "pre-install" } } } # want: Reserved key: metadata.annotations sets helm.sh/hook, which belongs to Helm. Delete it.
}

pool "kept" {
  node_class = node_class.default
  metadata {
    annotations = {
      "argocd.argoproj.io/sync-wave"      = "5"
      "argocd.argoproj.io/sync-options"   = "Prune=false,Delete=confirm,Validate=false"
      "kustomize.toolkit.fluxcd.io/prune" = "disabled"
    }
  }
}
