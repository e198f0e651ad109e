# A pool with every argument that production pools use. Each line says what it
# is for; what is left out has a sensible default.

lkeplan {
  # Refuse to work with a version that may understand this file differently.
  required_version = ">= 0.1"
}

cluster {
  name   = "prod"
  region = "us-ord"
  tier   = "enterprise"

  # What nodes run. They are replaced, one pool after another, when it changes
  # here; an upgrade of the control plane does not touch them.
  kubernetes_version = "v1.33.4+lke2"
}

node_class "default" {
  # Put on each Linode, for bills and for finding machines in the Cloud Manager.
  tags = ["env:prod", "team:platform"]

  # A Cloud Firewall that exists already. LKE Enterprise only.
  firewall_id = 12345

  # LKE Enterprise does not encrypt disks unless it is asked to.
  disk_encryption = "enabled"
}

pool "general" {
  node_class = node_class.default

  # Pools with more weight are tried first.
  weight = 10

  # Which plans may be used. A plain value must match, a list allows any of its
  # values, and functions say the rest.
  requirements = {
    arch          = "amd64"
    class         = ["dedicated", "standard"]
    cpu           = between(4, 32)
    memory        = gte("8Gi")
    gpu_count     = absent()
    instance_type = atleast(3, notin("g6-standard-20", "g6-standard-24"))

    # A label of your own: pods can ask for one of these tiers.
    "example.com/tier" = ["web", "api"]
  }

  # Put on each node.
  labels = { "example.com/team" = "platform" }

  # Keeps away pods that do not tolerate it.
  taints = ["example.com/dedicated=general:NoSchedule"]

  # Keeps away all pods until the network agent takes it off.
  startup_taints = ["node.cilium.io/agent-not-ready:NoExecute"]

  # The most the pool may hold in sum.
  limits = {
    cpu    = 400
    memory = "1600Gi"
    nodes  = 60
  }

  # Replace nodes after two weeks, and give each two days to drain. Budgets do
  # not hold that back, of which lkeplan would warn.
  # lkeplan:ignore expiry-without-budget pods here take two days' notice
  expire_after             = "336h"
  termination_grace_period = "48h"

  disruption {
    policy            = "WhenEmptyOrUnderutilized"
    consolidate_after = "5m"

    # At most a fifth of the nodes at a time.
    budget {
      nodes = "20%"
    }

    # None in office hours (UTC) to save money or for a change of settings.
    budget {
      nodes    = 0
      reasons  = ["Drifted", "Underutilized"]
      schedule = "0 13 * * mon-fri"
      duration = "10h"
    }
  }
}
