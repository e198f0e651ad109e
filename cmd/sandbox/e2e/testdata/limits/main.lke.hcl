cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

# A pool for each kind of limit, of plans of 4 CPUs, 8 GiB and 48 dollars.
pool "by" {
  for_each     = toset(["cost", "cpu", "memory", "nodes"])
  name         = each.key
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
}

# And one with a limit of its own.
pool "own" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  limits       = { nodes = 3 }
}

# Each has room for three nodes, and not for a fourth.
limits "nodes" {
  pools = [pool.by["nodes"]]
  nodes = 3
}

limits "cpu" {
  pools = [pool.by["cpu"]]
  cpu   = 15
}

limits "memory" {
  pools  = [pool.by["memory"]]
  memory = "31Gi"
}

limits "cost" {
  pools        = [pool.by["cost"]]
  monthly_cost = 191.99
}
