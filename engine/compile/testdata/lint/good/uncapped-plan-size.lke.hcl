pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}

pool "memory" {
  node_class   = node_class.default
  requirements = { memory = lte("64Gi") }
  weight       = 2
}

pool "plans" {
  node_class   = node_class.default
  requirements = { instance_type = ["g7-premium-56"] }
  weight       = 3
}

pool "limited" {
  node_class = node_class.default
  limits     = { cpu = 10 }
  weight     = 4
}
