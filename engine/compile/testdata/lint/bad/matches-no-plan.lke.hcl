pool "web" {
  node_class = node_class.default
  requirements = {
    class  = "premium"
    cpu    = lte(4) # want: Pool matches no plan: The other requirements leave g7-premium-32, g7-premium-48, g7-premium-50 and g7-premium-56 of the 42 plans that are sold in us-ord on the standard tier, and the requirement on cpu (at most 4) excludes the last of them. These plans have the following values of cpu: 32, 48, 50, 56. This pool never gets nodes. More: lkeplan explain matches-no-plan.
    memory = gte("64Gi")
  }
}
