cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {
  replace_before_maintenance = "24h"
}

# Plans of 4 CPUs only: one pod of 3 CPUs fits on each node. The budget allows no replacement.
pool "four" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }

  disruption {
    consolidate_after = "Never"

    budget {
      nodes = 0
    }
  }
}

# Its pods allow none.
pool "held" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }

  disruption {
    consolidate_after = "Never"

    budget {
      nodes = 1
    }
  }
}
