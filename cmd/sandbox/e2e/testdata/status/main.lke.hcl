cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

# Made wrong by the test.
node_class "broken" {}

# Of plans of 4 CPUs: each pod of the test takes one.
pool "plain" {
  for_each     = toset(["capped", "small", "guarded", "windowed", "fine"])
  name         = each.key
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }

  disruption {
    consolidate_after = "5s" # lkeplan:ignore consolidate-before-hour tests do not wait

    budget {
      nodes = each.key == "windowed" ? "0" : "100%" # lkeplan:ignore budget-never-opens it is what is told
    }
  }
}

pool "own" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  limits       = { nodes = 1 }
}

pool "stock" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 6 }
}

pool "refused" {
  node_class   = node_class.broken
  requirements = { class = "standard", cpu = 4 }
}

limits "cap" {
  pools = [pool.plain["capped"]]
  nodes = 1
}
