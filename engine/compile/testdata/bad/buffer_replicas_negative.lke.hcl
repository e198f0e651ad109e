buffer "a" {
  namespace    = "web"
  pod_template = "a"
  replicas     = -1 # want: Invalid CapacityBuffer: spec.replicas: should be greater than or equal to 0.
}
