# lkeplan:ignore gated-feature CapacityBuffer is on
buffer "web" { # want: Buffer of nothing: The buffer names neither a pod template nor a workload
  namespace = "web"
  replicas  = 3
}
