pool "web" {
  node_class = node_class.default
  labels     = { "example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" = "web" } # want: Label that LKE refuses: LKE takes 62 characters behind the prefix example.com/, and
}
