pool "web" {
  node_class = node_class.default
  labels     = { "example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" = "web" } # want: Label that LKE refuses: LKE allows 62 characters after the prefix example.com/, and
}
