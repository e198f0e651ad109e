pool "web" {
  node_class  = node_class.default
  annotations = { "example.com/a b" = "c" } # want: Invalid label: "example.com/a b" cannot be an annotation: name part must consist of
}
