pool "web" {
  node_class = node_class.default
  limits     = { cpu = -4 } # want: Negative amount: cpu = -4 allows nothing at all, not even what is there already.
}
