# A pool with a fixed number of nodes: five by day, three at night. Whoever sets the
# variable changes the number, within the guards.

cluster {
  name   = "prod"
  region = "us-ord"
}

variable "nodes" {
  type        = number
  default     = 5
  description = "The number of nodes of the pool web."
}

guards {
  max_deleted_nodes = 2 # in the evening, from five to three
}

node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  replicas     = var.nodes
}
