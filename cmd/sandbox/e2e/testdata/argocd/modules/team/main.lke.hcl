variable "team" {
  type = string
}

variable "node_class" {}

pool "pool" {
  name         = var.team
  node_class   = var.node_class
  weight       = 20
  requirements = { class = "dedicated", cpu = 4 }
  taints       = ["team=${var.team}:NoSchedule"]
}
