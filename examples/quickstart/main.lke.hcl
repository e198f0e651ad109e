# The smallest useful configuration: one cluster, one node class,
# one pool of nodes. Check it with `lkeplan validate`, and show
# the objects that it compiles to with `lkeplan render`.

# The LKE cluster of this directory, and its region.
cluster {
  name   = "quickstart"
  region = "us-ord"
}

# How nodes are set up. Without arguments, all settings are LKE's defaults.
node_class "default" {}

# Nodes are created for pending pods, and deleted when they
# are no longer needed.
pool "general" {
  node_class = node_class.default

  # The plan types that the pool may use: shared ones with 4 to 8
  # CPUs. Karpenter takes the cheapest that fits the pending pods.
  requirements = {
    class = "standard"
    cpu   = between(4, 8)
  }

  # The largest total size of the pool, to limit the cost of a mistake.
  limits = { cpu = 1000 }

  disruption {
    # Linode bills each started hour, so in production keep an idle node for a
    # while: "15m" or more. Without the next line lkeplan would warn about it.
    # lkeplan:ignore consolidate-before-hour short, so that you can watch nodes go
    consolidate_after = "30s"
  }
}
