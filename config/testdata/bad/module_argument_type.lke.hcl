module "team" {
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default
  max_cpu    = "many" # want: Wrong type for variable: The variable "max_cpu", declared at modules/team/main.lke.hcl:9, does not take this value: a number is required.
}
