cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

pool "fixed" {
  node_class   = node_class.default
  requirements = { instance_type = "g6-standard-4" }
  replicas     = 2
  limits       = { nodes = 3 }
}

pool "capped" {
  node_class   = node_class.default
  requirements = { instance_type = "g6-standard-2" }
  replicas     = 2
}

# A node of pool capped costs 24 dollars.
limits "capped" {
  pools        = [pool.capped]
  monthly_cost = 20
}

pool "plain" {
  node_class   = node_class.default
  requirements = { instance_type = "g6-dedicated-4" }
  limits       = { cpu = 40 }
}
