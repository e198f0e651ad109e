module "team" {
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default
  options    = { sport = true } # want: Unknown attribute: The type of the variable has no attribute "sport". Did you mean "spot"?
}
