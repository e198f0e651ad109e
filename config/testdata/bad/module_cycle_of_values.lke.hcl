module "team" { # want: Values refer to each other in a cycle: None of these values can be computed, because each needs the next: module.team (module_cycle_of_values.lke.hcl:1) → module.team.var.max_cpu (modules/team/main.lke.hcl:9) → module.team.
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default
  max_cpu    = module.team.pool.main.limits.cpu
}
