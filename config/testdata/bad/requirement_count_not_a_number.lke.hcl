pool "web" {
  node_class   = node_class.default
  requirements = { cpu = "four" } # want: Invalid requirement: cpu: "four" is not a whole number.
}
