module "team" {
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default
  max_cpu    = "many" # want: Wrong type for variable: The value is not valid for the variable "max_cpu", declared at modules/team/main.lke.hcl:9: a number is required.
}
