pool "web" {
  node_class   = node_class.default
  requirements = { instance_type = ["g6-dedicated-4", "g8-dedicated-8-4"] }
}
