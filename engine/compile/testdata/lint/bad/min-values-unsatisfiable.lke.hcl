pool "web" {
  node_class = node_class.default
  requirements = {
    class         = "premium"
    cpu           = lte(8)
    instance_type = atleast(5, exists()) # want: More values required than available: 5 different values of instance_type are required, but the plan types that the pool allows (g7-premium-2, g7-premium-4 and g7-premium-8) have 3. This pool never gets nodes. Lower the number, or allow more plan types. More: lkeplan explain min-values-unsatisfiable.
  }
}
