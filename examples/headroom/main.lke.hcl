# Room for pods that are not there yet, so that they need not wait for a machine.

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

# Room for half as many pods again as the Deployment has, of the size of its pods, but for
# 32 CPUs at most.
# lkeplan:ignore gated-feature CapacityBuffer is on in prod
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
