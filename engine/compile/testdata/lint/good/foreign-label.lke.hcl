pool "web" {
  node_class = node_class.default
  requirements = {
    cpu                = lte(16)
    class              = "dedicated"
    "example.com/tier" = "web"
  }
  labels = { "example.com/tier" = "web" }
}
