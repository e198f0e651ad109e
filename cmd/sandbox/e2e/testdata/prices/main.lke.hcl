cluster {
  name   = "sandbox"
  region = "br-gru"
}

node_class "default" {}

pool "standard" {
  node_class   = node_class.default
  requirements = { instance_type = "g6-standard-4" }
  limits       = { cpu = 40 }
}

pool "dedicated" {
  node_class   = node_class.default
  requirements = { class = "dedicated", generation = ["7", "8"], cpu = 4 }
  limits       = { cpu = 40 }
}

pool "gpu" {
  node_class   = node_class.default
  requirements = { class = "gpu" }
  limits       = { "nvidia.com/gpu" = 4, cpu = 16 }
}

limits "all" {
  monthly_cost = 10000
}
