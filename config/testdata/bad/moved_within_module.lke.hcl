module "t" {
  source = "./modules/two"
}

moved {
  from = node_class.a
  to   = module.t.node_class.shred # want: Nothing at this address: There is no node_class named "shred" in module.t. Did you mean "shared"?
}
