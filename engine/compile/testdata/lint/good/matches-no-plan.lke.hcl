pool "web" {
  node_class = node_class.default
  requirements = {
    class  = "dedicated"
    cpu    = lte(4)
    memory = gte("8Gi")
  }
}
