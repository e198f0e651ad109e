# The smallest useful document: one cluster, one way to set machines up, one
# pool of nodes. Check it with `lkeplan validate`, and look at the objects it
# stands for with `lkeplan render`.

# The LKE cluster this directory is for, and where it is.
cluster {
  name   = "quickstart"
  region = "us-ord"
}

# How machines are set up. Without arguments everything is as LKE does it.
node_class "default" {}

# Nodes are made when pods are waiting for a place, and go when they are no
# longer needed.
pool "general" {
  node_class = node_class.default

  # Which Linode plans may be used: shared ones with 4 to 8 CPUs. Of those that
  # fit the waiting pods, the cheapest is taken.
  requirements = {
    class = "standard"
    cpu   = between(4, 8)
  }

  # The most the pool may hold in sum, so that a mistake stays affordable.
  limits = { cpu = 1000 }

  disruption {
    # Linode bills each started hour, so in earnest a node is worth keeping for
    # a while after it becomes idle: "15m" or more. lkeplan would warn about it.
    # lkeplan:ignore consolidate-before-hour short, for you to see nodes go
    consolidate_after = "30s"
  }
}
