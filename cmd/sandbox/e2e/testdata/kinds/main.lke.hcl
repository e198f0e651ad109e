cluster {
  name   = "sandbox"
  region = "us-southeast" # it has GPUs
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(2, 8) }
}

pool "gpu" {
  node_class   = node_class.default
  requirements = { class = "gpu" }
  taints       = ["example.com/gpu:NoSchedule"]
}
