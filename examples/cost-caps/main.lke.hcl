# Caps for several pools, in addition to the limits of each pool. If a node would exceed
# a cap, it is not created. Its pods stay pending, and their events name the cap.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "team" {
  for_each     = toset(["ml", "search", "web"])
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(2, 8) }
  taints       = ["example.com/team=${each.key}:NoSchedule"]
  labels       = { "example.com/team" = each.key }
}

pool "batch" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  taints       = ["example.com/batch:NoSchedule"]
  labels       = { "example.com/pool" = "batch" }
  limits       = { cpu = 64 }
}

# The cap of all pools of the cluster, in US dollars a month at Linode's list prices.
limits "budget" {
  monthly_cost = 5000
}

# The cap of some pools. values(pool.team) refers to all elements of
# a pool with for_each, and pool.team["ml"] refers to one element.
limits "teams" {
  pools  = values(pool.team)
  nodes  = 40
  memory = "512Gi"
}

limits "batch" {
  pools        = [pool.batch]
  monthly_cost = 100
}
