pool "web" {
  node_class = node_class.default
  labels     = { "example.com/team" = "a b" } # want: Invalid NodePool: spec.template.metadata.labels.example.com/team: "a b" cannot be the value of a label: it must consist of letters, digits, dashes, underscores and dots, with a letter or digit at both ends, and 63 characters at most.
}
