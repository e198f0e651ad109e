buffer "a" {
  namespace    = "Web" # want: Invalid CapacityBuffer: metadata.namespace:
  pod_template = "a"
  replicas     = 1
}
