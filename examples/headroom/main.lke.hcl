# Spare capacity for future pods, so that they do not wait for a new node.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  limits       = { cpu = 64 }
}

# Capacity for half as many pods as the Deployment has, with
# the same requests, but at most 32 CPUs.
buffer "web" {
  namespace  = "default"
  percentage = 50

  scalable {
    api_group = "apps"
    kind      = "Deployment"
    name      = "web"
  }

  limits = { cpu = 32 }
}
