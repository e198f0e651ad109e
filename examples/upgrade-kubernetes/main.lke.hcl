# The Kubernetes version of the nodes, in Git. An upgrade of
# the control plane replaces no node; a commit does.

cluster {
  name   = "prod"
  region = "us-ord"
  tier   = "enterprise"

  kubernetes_version = "v1.31.8+lke1"
}

node_class "default" {
  disk_encryption = "enabled"
}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "dedicated", cpu = 4 }
  limits       = { cpu = 64 }
}

pool "web" {
  node_class   = node_class.default
  requirements = { class = "dedicated", cpu = 4 }
  labels       = { "example.com/pool" = "web" }
  taints       = ["example.com/web:NoSchedule"]
  limits       = { cpu = 64 }
}

# An upgrade replaces all nodes. This exceeds the guard, so an upgrade needs an approval.
guards {
  max_rolled_nodes = "50%"
}
