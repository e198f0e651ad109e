locals {
  where = "./modules/team"
}

module "team" {
  source = local.where # want: Literal text required: The value of source is needed before expressions are evaluated, so it must be literal text in quotes.
}
