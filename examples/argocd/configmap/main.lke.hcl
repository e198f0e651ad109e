cluster {
  name   = "prod"
  region = "us-ord"
}

guards {
  max_deleted_pools = 1
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  weight       = 10
  requirements = { class = ["standard", "dedicated"], cpu = between(4, 16) }
  limits       = { cpu = 200 }
}

pool "batch" {
  node_class   = node_class.default
  requirements = { class = "dedicated", cpu = between(4, 32) }
  taints       = ["example.com/batch=true:NoSchedule"]
  limits       = { cpu = 400 }
}
