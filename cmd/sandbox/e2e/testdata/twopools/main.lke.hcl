cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

# Nodes have room for one pod of the test, or in the pool bad for two. The pools bad and good have different plan types: a
# fault of one does not affect the other.
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

pool "fixed" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 6 }
  replicas     = 1
}
