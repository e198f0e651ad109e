# A pool for what must not go down: dedicated CPUs, few changes at a time, none in
# office hours, and a fallback if it is full.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "critical" {
  node_class = node_class.default

  # Tried first by pods that could go to either pool.
  weight = 100

  # Dedicated CPUs are not shared with others, and three plans at least must stay to
  # choose from, so that one that is out of stock stops nothing.
  requirements = {
    class         = ["dedicated", "premium"]
    cpu           = between(4, 16)
    instance_type = atleast(3, exists())
  }

  taints = ["example.com/critical:NoSchedule"]
  labels = { "example.com/tier" = "critical" }

  # Room for a node more than is needed: the new one is made before the old one goes.
  limits = { cpu = 96 }

  # Nodes have no age at which they go: budgets do not hold that back. They are
  # replaced by commits, such as one that changes the version of Kubernetes.
  expire_after             = "Never"
  termination_grace_period = "24h"

  disruption {
    policy            = "WhenEmpty"
    consolidate_after = "1h"

    # One at a time.
    budget {
      nodes = 1
    }

    # None in office hours (UTC).
    budget {
      nodes    = 0
      schedule = "0 7 * * mon-fri"
      duration = "12h"
    }
  }
}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(2, 8) }
  limits       = { cpu = 64 }
}

# What no pull request may do without a person who says so.
guards {
  protected        = [pool.critical]
  max_rolled_nodes = "50%"

  freeze "year_end" {
    schedule = "0 0 20 12 *"
    duration = "336h"
    reason   = "Nothing is replaced before January."
  }
}
