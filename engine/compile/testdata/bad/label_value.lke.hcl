pool "web" {
  node_class = node_class.default
  labels     = { "example.com/team" = "a b" } # want: Invalid NodePool: spec.template.metadata.labels.example.com/team: "a b" cannot be a value: it must consist of letters,
}
