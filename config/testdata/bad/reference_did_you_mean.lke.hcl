locals {
  weight = 10
}

pool "web" {
  node_class = node_class.defalt # want: Unknown reference: No node_class is named "defalt" in this directory. Did you mean "default"?
  weight     = local.wieght      # want: Unknown reference: No local is named "wieght" in this directory. Did you mean "weight"?
}
