overlay "a" {
  requirements = {
    "kubernetes.io/hostname" = "a" # want: Invalid NodeOverlay: spec.requirements[0].key: label "kubernetes.io/hostname" is restricted.
  }
  price = "1"
}
