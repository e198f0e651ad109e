pool "web" {
  node_class = node_class.default
  taints     = ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:NoSchedule"] # want: Invalid label: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" cannot be the key of a taint: name part must be no more than 63 bytes.
}
