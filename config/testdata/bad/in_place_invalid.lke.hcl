pool "web" {
  node_class = node_class.default
  in_place   = ["a,b"] # want: Invalid key: "a,b" is not the key of a label or an annotation. Write a key such as "example.com/team": letters, digits, dashes, dots and underscores, at most 63 of them after an optional domain and a slash.
}
