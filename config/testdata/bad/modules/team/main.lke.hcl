variable "team" {
  type = string
}

variable "node_class" {
  type = object({ kind = string, name = string })
}

variable "max_cpu" {
  type    = number
  default = 100
}

pool "main" {
  node_class   = var.node_class
  requirements = { arch = "amd64" }
  labels       = { "example.com/team" = var.team }
  limits       = { cpu = var.max_cpu }
}

variable "options" {
  type    = object({ spot = optional(bool, false) })
  default = {}
}
