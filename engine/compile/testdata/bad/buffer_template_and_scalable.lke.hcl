buffer "a" { # want: Invalid CapacityBuffer: spec:
  namespace    = "web"
  pod_template = "a"
  replicas     = 1

  scalable {
    kind = "Deployment"
    name = "a"
  }
}
