# The smallest useful configuration: one cluster, one node class,
# one pool of nodes. Check it with `lkeplan validate`, and show
# the objects that it compiles to with `lkeplan render`.

# The LKE cluster of this directory, and its region.
cluster {
  name   = "quickstart"
  region = "us-ord"
}

# The settings of the nodes. Without arguments, the nodes have LKE's defaults.
node_class "default" {}

# Nodes are created for pending pods, and deleted when they
# are no longer needed.
pool "general" {
  node_class = node_class.default

  # The plan types (sizes of Linodes) of the pool: shared CPUs, 4 to 8 of
  # them. Karpenter creates the cheapest node that fits the pending pods.
  requirements = {
    class = "standard"
    cpu   = between(4, 8)
  }

  # The largest total size of the pool, to limit the cost of a mistake.
  limits = { cpu = 1000 }

  disruption {
    # The time that a node stays idle before Karpenter removes it. Linode bills
    # whole hours, so use "15m" or more in production.
    # lkeplan:ignore consolidate-before-hour short, so that you can watch nodes go
    consolidate_after = "30s"
  }
}
