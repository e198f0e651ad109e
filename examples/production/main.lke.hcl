# A pool with every argument that production pools use. A comment explains
# each argument. If you leave an argument out, it has a useful default.

lkeplan {
  # Refuse older versions of lkeplan, which could read this file differently.
  required_version = ">= 0.1"
}

cluster {
  name   = "prod"
  region = "us-ord"
  tier   = "enterprise"

  # The Kubernetes version of the nodes. If you change it, the nodes are replaced,
  # one pool after another. An upgrade of the control plane replaces no node.
  kubernetes_version = "v1.33.4+lke2"
}

node_class "default" {
  # Tags of each Linode, for bills and for the search in Cloud Manager.
  tags = ["env:prod", "team:platform"]

  # An existing Cloud Firewall. LKE Enterprise only.
  firewall_id = 12345

  # LKE Enterprise does not encrypt disks by default.
  disk_encryption = "enabled"
}

pool "general" {
  node_class = node_class.default

  # Pools with more weight are tried first.
  weight = 10

  # The plan types that the pool may use. A plain value must match, a list
  # allows any of its values, and functions express other conditions.
  requirements = {
    arch          = "amd64"
    class         = ["dedicated", "standard"]
    cpu           = between(4, 32)
    memory        = gte("8Gi")
    gpu_count     = absent()
    instance_type = atleast(3, notin("g6-standard-20", "g6-standard-24"))

    # Your own label: pods can select one of these tiers.
    "example.com/tier" = ["web", "api"]
  }

  # Labels of each node.
  labels = { "example.com/team" = "platform" }

  # Pods that do not tolerate this taint do not run on the nodes.
  taints = ["example.com/dedicated=general:NoSchedule"]

  # No pod runs on a new node until the network agent removes this taint.
  startup_taints = ["node.cilium.io/agent-not-ready:NoExecute"]

  # The largest total size of the pool.
  limits = {
    cpu    = 400
    memory = "1600Gi"
    nodes  = 60
  }

  # Replace nodes after two weeks, and give each two days to drain. Budgets
  # do not delay expiry. The next line suppresses the warning about this.
  # lkeplan:ignore expiry-without-budget pods here need two days to stop
  expire_after             = "336h"
  termination_grace_period = "48h"

  disruption {
    policy            = "WhenEmptyOrUnderutilized"
    consolidate_after = "5m"

    # At most a fifth of the nodes at the same time.
    budget {
      nodes = "20%"
    }

    # No node in office hours (UTC), neither to save money nor for a change to the pool.
    budget {
      nodes    = 0
      reasons  = ["Drifted", "Underutilized"]
      schedule = "0 13 * * mon-fri"
      duration = "10h"
    }
  }
}
