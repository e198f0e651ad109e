pool "web" {
  node_class = node_class.default
  requirements = {
    class         = "dedicated"
    cpu           = lte(8)
    instance_type = atleast(3, exists())
  }
}
