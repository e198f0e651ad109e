buffer "web" {
  namespace    = "web"
  replicas     = 3
  pod_template = "web"
}
