buffer "a" { # want: Missing required argument: The argument "namespace" is required
  pod_template = "web"
  replicas     = 1
}
