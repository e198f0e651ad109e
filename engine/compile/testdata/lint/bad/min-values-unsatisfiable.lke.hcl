pool "web" {
  node_class = node_class.default
  requirements = {
    class         = "dedicated"
    cpu           = lte(8)
    instance_type = atleast(5, exists()) # want: More values required than there are: 5 different values of instance_type are required, and the plans that the pool allows (g6-dedicated-2, g6-dedicated-4 and g6-dedicated-8) have 3.
  }
}
