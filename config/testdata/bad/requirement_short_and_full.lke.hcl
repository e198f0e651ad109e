pool "web" {
  node_class = node_class.default
  requirements = {
    arch                 = "amd64"
    "kubernetes.io/arch" = "amd64" # want: Duplicate requirement: arch and kubernetes.io/arch are the same label.
  }
}
