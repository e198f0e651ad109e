# Nodes are replaced never in office hours, one at a time
# in the evening, and several at the weekend. All times are UTC.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 8) }
  limits       = { cpu = 200 }

  # Budgets do not delay expiry, so nodes do not expire here. Commits replace them.
  expire_after = "Never"

  disruption {
    consolidate_after = "15m"

    # This budget always applies. If all budgets of a pool had a schedule, all nodes
    # could be replaced at the same time outside of these schedules.
    budget {
      nodes = "20%"
    }

    # Monday to Friday from 7:00 to 19:00, no node is replaced for a commit or
    # to save money. Empty nodes are still removed, because that affects no pod.
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

# A change that replaces nodes is applied at night from Monday to Thursday. A
# change that is merged earlier waits for 22:00 and is then applied automatically.
guards {
  window "nights" {
    schedule = "0 22 * * mon-thu"
    duration = "6h"
    reason   = "Changes that replace nodes are for the night."
  }
}
