module "t" {
  source = "./modules/two"
}

moved {
  from = node_class.a
  to   = module.t.node_class.shred # want: No object at this address: No node_class is named "shred" in module.t. Did you mean "shared"?
}
