module "team" {
  source     = "./modules/team"
  team       = local.nobody # want: Unknown reference: There is no local named "nobody" in this directory.
  node_class = node_class.default
}
