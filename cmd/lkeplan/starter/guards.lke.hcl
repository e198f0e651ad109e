# Guards limit what one change may do. lkeplan reads the guards from the base of the
# change, so a pull request cannot disable the guards that check it.
guards {
  max_deleted_pools = 0
  max_rolled_nodes  = "30%"
}

# The maximum cost of all pools together, in US dollars a month at list prices. If a
# node would exceed the maximum, Karpenter does not create it, and its pods stay
# pending.
limits "budget" {
  monthly_cost = 1000
}
