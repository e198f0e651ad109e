cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

# Each node has room for one pod of the test. The pools have different plan types: a fault of one does not affect the other.
pool "bad" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 6 }

  disruption {
    policy            = "WhenEmpty"
    consolidate_after = "Never"

    budget {
      nodes = "1"
    }
  }
}

pool "good" {
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
