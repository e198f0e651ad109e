pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  limits       = { cpu = 100, nodes = 0 } # want: Limit below the smallest plan type: The limit is zero, so this pool never gets nodes. To disable a pool, write enabled = false. More: lkeplan explain limit-below-smallest-plan.
}
