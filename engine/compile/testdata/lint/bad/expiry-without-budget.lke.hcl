pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "336h" # want: Budgets do not delay expiry: Nodes expire 336h after their creation, and budgets do not delay that: a node is drained at its age even while a budget blocks disruption, and its replacement is created only then. Write expire_after = "Never", or ignore this with a reason.

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    budget {
      nodes    = 0
      schedule = "0 8 * * mon-fri"
      duration = "10h"
    }
  }
}
