pool "web" {
  node_class = node_class.default
  labels     = { "example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" = "web" } # want: LKE refuses the label: LKE allows 62 characters after the prefix example.com/, and "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" has 63. More: lkeplan explain label-refused.
}
