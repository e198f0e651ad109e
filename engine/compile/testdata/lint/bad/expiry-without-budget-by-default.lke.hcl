pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    budget { # want: Budgets do not delay expiry: Nodes expire 720h after they were made
      nodes    = 0
      schedule = "0 8 * * mon-fri"
      duration = "10h"
    }
  }
}
