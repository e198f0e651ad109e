pool "web" {
  node_class = node_class.default
  for_each   = { "A b" = 1 }
  name       = "web-${each.key}" # want: Invalid object name: The name of the object would be "web-A b", which Kubernetes does not allow. A name has at most 63 characters: lower-case letters, digits, dashes and dots. The name, and each part between dots, starts and ends with a letter or digit. Rename the block, or set the argument name, as in name = "web-pool".
}
