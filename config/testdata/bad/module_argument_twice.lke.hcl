module "team" {
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default
  team       = "api" # want: Attribute redefined: The argument "team" was already set
}
