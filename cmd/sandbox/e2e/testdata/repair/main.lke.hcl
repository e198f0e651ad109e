cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

# Each node has room for one pod of the test.
pool "repair" {
  for_each = toset(["evicted", "stay", "three", "five"])
  name     = each.key

  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }

  disruption {
    policy            = "WhenEmpty"
    consolidate_after = "Never"

    budget {
      nodes = "1"
    }
  }
}
