# Nodes are replaced before Linode maintains their hosts.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {
  replace_before_maintenance = "24h"
}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  limits       = { cpu = 40 }

  disruption {
    consolidate_after = "15m"

    # One node at a time, also before maintenance.
    budget {
      nodes = 1
    }
  }
}
