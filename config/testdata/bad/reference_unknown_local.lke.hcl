pool "web" {
  node_class = node_class.default
  weight     = local.wieght # want: Unknown reference: No local is named "wieght" in this directory.
}
