pool "web" {
  node_class = node_class.default
  labels     = { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example.com/team" = "web" } # want: Label that LKE refuses: LKE allows keys of 128 characters with their prefix, and
}
