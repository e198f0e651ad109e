locals {
  weight = 10
}

pool "web" {
  node_class = node_class.defalt # want: Unknown reference: There is no node_class named "defalt" in this directory. Did you mean "default"?
  weight     = local.wieght      # want: Unknown reference: There is no local named "wieght" in this directory. Did you mean "weight"?
}
