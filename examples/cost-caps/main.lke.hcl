# Caps on what several pools hold together, beside the limits of each pool. A node that
# would go beyond a cap is not made; its pods wait, and say why.

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

# All pools of the cluster, in US dollars a month at Linode's list prices.
limits "budget" {
  monthly_cost = 5000
}

# Some of them, by reference: values(...) stands for all elements of a pool with
# for_each, pool.team["ml"] for one.
limits "teams" {
  pools  = values(pool.team)
  nodes  = 40
  memory = "512Gi"
}

limits "batch" {
  pools        = [pool.batch]
  monthly_cost = 100
}
