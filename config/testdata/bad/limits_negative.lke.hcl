pool "web" {
  node_class = node_class.default
  limits     = { cpu = -4 } # want: Negative amount: cpu = -4 is negative. An amount must be 0 or more.
}
