# A pool for jobs: cheap machines, made when work arrives and gone soon after it.

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

  # Shared CPUs are the cheapest. Of several sizes the one is taken that fits the
  # jobs that wait at the least cost.
  requirements = { class = "standard", cpu = between(4, 16) }

  # Only pods that say so come here, and nothing else keeps these nodes alive.
  taints = ["example.com/batch:NoSchedule"]
  labels = { "example.com/pool" = "batch" }

  limits = { cpu = 64 }

  # A node is no older than a day: leftovers of jobs go with it.
  expire_after             = "24h"
  termination_grace_period = "2h"

  disruption {
    # A job is not moved: it would begin anew.
    policy = "WhenEmpty"

    # Linode bills each started hour. A node that is empty for ten minutes is kept
    # for the next job that comes.
    consolidate_after = "10m"

    # Empty nodes may all go at once; that needs no bound.
    budget {
      nodes   = "100%"
      reasons = ["Empty"]
    }

    # Of those with work, one at a time is replaced.
    budget {
      nodes   = 1
      reasons = ["Drifted", "Underutilized"]
    }
  }
}
