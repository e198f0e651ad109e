pool "web" {
  node_class = node_class.default
  requirements = {
    "example.com/tier" = ["web", "a b"] # want: Invalid label: "a b" cannot be the value of a label: a valid label must be an empty string or consist of
  }
}
