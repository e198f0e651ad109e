module "team" {
  source     = "./modules/team"
  team       = local.nobody # want: Unknown reference: No local is named "nobody" in this directory.
  node_class = node_class.default
}
