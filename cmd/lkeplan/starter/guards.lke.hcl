# What one change may do. lkeplan reads guards from the base of a change, so that
# a pull request cannot lift its own guards.
guards {
  max_deleted_pools = 0
  max_rolled_nodes  = "30%"
}

# All pools together, in US dollars a month at list prices. A node that would
# exceed it is not created, and its pods stay pending.
limits "budget" {
  monthly_cost = 1000
}
