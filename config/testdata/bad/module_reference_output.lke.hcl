module "a" {
  source = "./modules/two"
}

pool "web" {
  node_class = module.a.shared # want: Unsupported attribute: This object does not have an attribute named "shared".
}
