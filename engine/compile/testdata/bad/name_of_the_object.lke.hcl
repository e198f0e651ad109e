pool "web" {
  node_class = node_class.default
  metadata {
    labels = { "a b" = "c" } # want: Invalid NodePool: metadata.labels: name part must consist of alphanumeric characters
  }
}
