pool "web" {
  node_class = node_class.default
  requirements = {
    class  = "premium"
    cpu    = lte(4) # want: No plan type meets the requirements of the pool: Of the 42 plan types that are sold in us-ord for the standard tier, the other requirements allow g7-premium-32, g7-premium-48, g7-premium-50 and g7-premium-56, and the requirement on cpu (at most 4) excludes these. The plan types have the following values of cpu: 32, 48, 50, 56. This pool never gets nodes. More: lkeplan explain matches-no-plan.
    memory = gte("64Gi")
  }
}
