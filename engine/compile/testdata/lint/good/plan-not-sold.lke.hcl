pool "web" {
  node_class   = node_class.default
  requirements = { instance_type = ["g6-standard-2", "g7-premium-2"] }
}
