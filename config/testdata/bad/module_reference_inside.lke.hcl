module "a" {
  source = "./modules/two"
}

pool "web" {
  node_class = module.a.node_class.shred # want: Unsupported attribute: This object does not have an attribute named "shred". Did you mean "shared"?
}
