locals {
  weight = 10
}

pool "web" {
  node_class = node_class.defalt # want: Reference to something that is not declared: There is no node_class named "defalt" in this directory, so node_class.defalt means nothing. Did you mean "default"?
  weight     = local.wieght      # want: Reference to something that is not declared: There is no local named "wieght" in this directory, so local.wieght means nothing. Did you mean "weight"?
}
