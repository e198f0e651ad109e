pool "web" {
  node_class = node_class.default
  weight     = local.wieght # want: Unknown reference: There is no local named "wieght" in this directory.
}
