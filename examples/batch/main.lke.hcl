# A pool for jobs: cheap nodes, created when jobs arrive and deleted soon after.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(2, 8) }
  limits       = { cpu = 64 }
}

pool "batch" {
  node_class = node_class.default

  # Shared CPUs are the cheapest. Karpenter takes the plan
  # type that fits the pending jobs at the lowest cost.
  requirements = { class = "standard", cpu = between(4, 16) }

  # Only pods that tolerate the taint run here, so no other pod keeps these nodes alive.
  taints = ["example.com/batch:NoSchedule"]
  labels = { "example.com/pool" = "batch" }

  limits = { cpu = 64 }

  # No node is older than a day, so leftovers of jobs are removed with it.
  expire_after             = "24h"
  termination_grace_period = "2h"

  disruption {
    # Jobs are not moved: a moved job would start again.
    policy = "WhenEmpty"

    # Linode bills whole hours, so an empty node stays for
    # ten minutes, for the next job.
    consolidate_after = "10m"

    # All empty nodes may be removed at the same time.
    budget {
      nodes   = "100%"
      reasons = ["Empty"]
    }

    # Nodes with jobs are replaced one at a time.
    budget {
      nodes   = 1
      reasons = ["Drifted", "Underutilized"]
    }
  }
}
