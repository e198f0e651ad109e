# Each cluster has a directory. The clusters share the modules in ../../modules.
# Compile this directory with: lkeplan render examples/modules/clusters/prod

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {
  tags = ["env:prod"]
}

module "ml" {
  source     = "../../modules/team"
  team       = "ml"
  node_class = node_class.default
  max_cpu    = 96

  requirements = {
    class  = "highmem"
    memory = between("48Gi", "192Gi")
  }
}

# A module can be repeated or disabled like any block: with for_each and enabled.
module "apps" {
  for_each   = { search = 200, web = 320 }
  source     = "../../modules/team"
  team       = each.key
  node_class = node_class.default
  max_cpu    = each.value
}

# Other blocks can refer to its pools and node classes.
check "ml_is_capped" {
  assert {
    condition     = module.ml.pool.nodes.limits.cpu <= 100
    error_message = "Machine learning has up to 100 CPUs here."
  }
}
