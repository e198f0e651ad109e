# When nodes may be replaced: not while people work, one at a time in the evening, and
# several at the weekend. All times are UTC.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 8) }
  limits       = { cpu = 200 }

  # A node that expires asks no budget. Here they go by commits and by the weekend.
  expire_after = "Never"

  disruption {
    consolidate_after = "15m"

    # Always. It is there for the hours that no schedule names: a pool whose budgets all
    # have one is free to replace every node at once outside of them.
    budget {
      nodes = "20%"
    }

    # Monday to Friday from 7:00 to 19:00 nothing is moved to save money, and nothing
    # is replaced for a commit. Empty nodes still go: they disturb nobody.
    budget {
      nodes    = 0
      reasons  = ["Drifted", "Underutilized"]
      schedule = "0 7 * * mon-fri"
      duration = "12h"
    }

    # In the evenings one at a time.
    budget {
      nodes    = 1
      reasons  = ["Drifted", "Underutilized"]
      schedule = "0 19 * * mon-thu"
      duration = "12h"
    }
  }
}

# A change that replaces nodes is applied between Monday and Thursday at night. One that
# is merged earlier waits for 22:00 and goes by itself.
guards {
  window "nights" {
    schedule = "0 22 * * mon-thu"
    duration = "6h"
    reason   = "Changes that replace nodes are for the night."
  }
}
