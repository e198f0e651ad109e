pool "web" {
  node_class   = node_class.default
  requirements = { "kubernetes.io/hostname" = "a" } # want: Invalid NodePool: spec.template.spec.requirements[1].key: label "kubernetes.io/hostname" is restricted.
}
