pool "web" {
  node_class = node_class.default
  name       = each.key # want: Unknown name: There is nothing named "each" here.
}
