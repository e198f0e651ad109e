locals {
  base = { cpu = gte(4) }
}

pool "web" {
  node_class   = node_class.default
  requirements = merge(local.base, { "kubernetes.io/hostname" = "a" }) # want: Invalid NodePool: spec.template.spec.requirements[2].key: label "kubernetes.io/hostname" is restricted.
}
