module "team" { # want: Missing argument: The module requires a value for team, a variable without a default: modules/team/main.lke.hcl:1.
  source     = "./modules/team"
  node_class = node_class.default
}
