# The same teams in a smaller cluster.

cluster {
  name   = "dev"
  region = "us-ord"
}

node_class "default" {
  tags = ["env:dev"]
}

module "apps" {
  for_each   = toset(["search", "web"])
  source     = "../../modules/team"
  team       = each.key
  node_class = node_class.default
  max_cpu    = 16
}
