pool "api" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  weight       = 10
  limits       = { cpu = 100 }
}

pool "batch" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  taints       = ["example.com/batch:NoSchedule"]
}

pool "a" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  labels       = { "example.com/team" = "a" }
  weight       = 5
  limits       = { cpu = 100 }
}

pool "b" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  labels       = { "example.com/team" = "b" }
  weight       = 5
  limits       = { cpu = 100 }
}
