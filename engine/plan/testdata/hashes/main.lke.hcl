cluster {
  name   = "dev"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "smallest" {}

node_class "full" {
  tags               = ["team:web"]
  firewall_id        = 7
  kubernetes_version = "v1.33.4+lke2"
  disk_encryption    = "enabled"
  image              = "linode/debian12"
}

pool "smallest" {
  node_class = node_class.smallest
}

pool "full" {
  node_class     = node_class.full
  requirements   = { class = ["dedicated", "standard"], cpu = between(4, 32), arch = "amd64" }
  labels         = { "example.com/team" = "web" }
  annotations    = { "example.com/owner" = "web" }
  taints         = ["example.com/dedicated=web:NoSchedule"]
  startup_taints = ["node.cilium.io/agent-not-ready:NoExecute"]
  limits         = { cpu = 400, nodes = 60 }
  weight         = 10
  expire_after   = "240h"

  termination_grace_period = "1h"

  disruption {
    consolidate_after = "1h"

    budget {
      nodes = "10%"
    }
  }
}
