module "shared" {
  source = "./modules/two"
}

pool "web" {
  node_class = module.shred.node_class.shared # want: Unknown reference: No module is named "shred" in this directory. Did you mean "shared"?
}
