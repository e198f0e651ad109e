pool "web" {
  node_class = node_class.default
  name       = each.key # want: Unknown name: The names each.key and each.value exist only in blocks with for_each.
}
