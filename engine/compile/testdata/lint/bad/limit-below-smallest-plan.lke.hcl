pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  limits = {
    cpu    = 100
    memory = "1Gi" # want: Limit below the smallest plan type: The smallest plan type that the pool allows, g6-standard-2, has 3.7Gi of memory, which is more than the limit of 1Gi. This pool never gets nodes. Raise the limit, or allow smaller plan types. More: lkeplan explain limit-below-smallest-plan.
  }
}
