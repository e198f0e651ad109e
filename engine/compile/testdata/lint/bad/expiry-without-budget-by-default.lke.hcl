pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    budget { # want: Budgets do not delay expiry: Nodes expire 720h after their creation, and budgets do not delay that: a node is drained at its age even while a budget blocks disruption, and its replacement is created only then. Write expire_after = "Never", or ignore this with a reason.
      nodes    = 0
      schedule = "0 8 * * mon-fri"
      duration = "10h"
    }
  }
}
