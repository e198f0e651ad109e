# One pool with the usual arguments. objects.yaml has the same objects as
# YAML, with labels instead of short names and a requirement for each bound.

lkeplan {
  required_version = "~> 0.3"
}

cluster {
  name   = "prod"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "default" {
  tags               = ["env:prod", "team:platform"]
  firewall_id        = 12345
  disk_encryption    = "enabled"
  kubernetes_version = "v1.33.4+lke2"
}

pool "general" {
  node_class = node_class.default
  weight     = 10

  requirements = {
    arch          = "amd64"
    class         = ["dedicated", "standard"]
    cpu           = between(4, 32)
    memory        = gte("8Gi")
    gpu_count     = absent()
    instance_type = atleast(3, notin("g6-standard-20", "g6-standard-24"))

    "example.com/tier" = ["web", "api"]
  }

  labels         = { "example.com/team" = "platform" }
  taints         = ["example.com/dedicated=general:NoSchedule"]
  startup_taints = ["node.cilium.io/agent-not-ready:NoExecute"]

  limits = {
    cpu    = 400
    memory = "1600Gi"
    nodes  = 60
  }

  # lkeplan:ignore expiry-without-budget nodes may expire in office hours
  expire_after             = "336h"
  termination_grace_period = "48h"

  disruption {
    policy            = "WhenEmptyOrUnderutilized"
    consolidate_after = "5m"

    budget {
      nodes = "20%"
    }

    budget {
      nodes    = 0
      reasons  = ["Drifted", "Underutilized"]
      schedule = "0 13 * * mon-fri"
      duration = "10h"
    }
  }
}
