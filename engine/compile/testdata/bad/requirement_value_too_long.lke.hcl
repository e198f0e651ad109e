pool "web" {
  node_class   = node_class.default
  requirements = { "example.com/tier" = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" } # want: Invalid label: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" cannot be the value of a label: must be no more than 63 bytes.
}
