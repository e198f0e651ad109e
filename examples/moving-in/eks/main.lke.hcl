# The pool of eks.yaml, as written for LKE.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {
  tags = ["team:platform"]
}

pool "general" {
  node_class   = node_class.default
  requirements = { class = ["dedicated", "standard"], cpu = lte(16) }
  labels       = { "example.com/workload" = "general" }
  limits       = { cpu = 100 }

  disruption {
    consolidate_after = "5m"
  }
}
