pool "large" {
  node_class   = node_class.default
  requirements = { cpu = lte(16) }
  weight       = 10
  limits       = { cpu = 100 }
}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}

pool "batch" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  weight       = 20
  taints       = ["example.com/batch:NoSchedule"]
}
