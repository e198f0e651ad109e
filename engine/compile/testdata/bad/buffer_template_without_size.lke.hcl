buffer "a" { # want: Invalid CapacityBuffer: spec:
  namespace    = "web"
  pod_template = "a"
}
