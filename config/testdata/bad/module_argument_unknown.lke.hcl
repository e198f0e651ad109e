module "team" {
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default
  max_cpus   = 4 # want: Unknown argument: The module in modules/team has no variable "max_cpus". Did you mean "max_cpu"?
}
