# A pool for critical services: dedicated CPUs, few replacements
# at a time, none in office hours, and a fallback if it is full.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "critical" {
  node_class = node_class.default

  # Karpenter tries this pool first for pods that fit both.
  weight = 100

  # Dedicated CPUs are not shared. At least three plan types
  # must match, so that one that is out of stock blocks nothing.
  requirements = {
    class         = ["dedicated", "premium"]
    cpu           = between(4, 16)
    instance_type = atleast(3, exists())
  }

  taints = ["example.com/critical:NoSchedule"]
  labels = { "example.com/tier" = "critical" }

  # One node more than needed: a replacement is created before the old node is deleted.
  limits = { cpu = 96 }

  # Nodes do not expire, because budgets do not delay expiry. Commits
  # replace them, such as one with a new version of Kubernetes.
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

# What no pull request may do without an approval.
guards {
  protected        = [pool.critical]
  max_rolled_nodes = "50%"

  freeze "year_end" {
    schedule = "0 0 20 12 *"
    duration = "336h"
    reason   = "Nothing is replaced before January."
  }
}
