pool "web" {
  node_class = node_class.default
  weight     = local.wieght # want: Reference to something that is not declared: There is no local named "wieght" in this directory
}
