module "a" {
  enabled = false
  source  = "./modules/two"
}

pool "web" {
  node_class = module.a.node_class.shared # want: Attempt to get attribute from null value: This value is null, so it does not have any attributes.
}
