node_class "web" {
  tags = { env = "prod" } # want: Wrong type of value: The argument tags takes a list of strings, not a map.
}
