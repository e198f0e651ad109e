locals {
  where = "./modules/team"
}

module "team" {
  source = local.where # want: Text written out is required: The value of source is needed before anything is evaluated
}
