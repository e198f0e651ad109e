pool "web" {
  node_class = node_class.default
  requirements = {
    class  = "dedicated"
    cpu    = lte(4) # want: Pool matches no plan: The other requirements leave g6-dedicated-32, g6-dedicated-48, g6-dedicated-50 and g6-dedicated-56 of the 37 plans that are sold in us-ord on the standard tier, and cpu (at most 4) takes the last of them away. They have: 32, 48, 50, 56. Nodes are never made for this pool. More: lkeplan explain matches-no-plan.
    memory = gte("64Gi")
  }
}
