buffer "web" { # want: Empty buffer: The buffer names neither a pod template nor a workload
  namespace = "web"
  replicas  = 3
}
