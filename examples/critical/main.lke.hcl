# A pool for critical services: dedicated CPUs, one replacement at
# a time, no replacement in office hours, and a general pool as a fallback.

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
  # must match, so that the pool works if one of them is out of stock.
  requirements = {
    class         = ["dedicated", "premium"]
    cpu           = between(4, 16)
    instance_type = atleast(3, exists())
  }

  taints = ["example.com/critical:NoSchedule"]
  labels = { "example.com/tier" = "critical" }

  # One more node than needed, because a replacement is created before the old node is deleted.
  limits = { cpu = 96 }

  # Nodes do not expire, because budgets do not delay expiry. Commits
  # replace them, such as one with a new version of Kubernetes.
  expire_after             = "Never"
  termination_grace_period = "24h"

  disruption {
    policy            = "WhenEmpty"
    consolidate_after = "1h"

    # One node at a time.
    budget {
      nodes = 1
    }

    # No node in office hours (UTC).
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

# A pull request that exceeds these limits needs an approval.
guards {
  protected        = [pool.critical]
  max_rolled_nodes = "50%"

  freeze "year_end" {
    schedule = "0 0 20 12 *"
    duration = "336h"
    reason   = "Nothing is replaced before January."
  }
}
