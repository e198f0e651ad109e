# What every team gets in each cluster: one pool. The variables
# are the arguments of the module blocks that call this directory.

variable "team" {
  type        = string
  description = "The team's name, which its nodes carry as a label."
}

variable "node_class" {
  type        = object({ kind = string, name = string })
  description = "A reference to the node class of the machines."
}

variable "max_cpu" {
  type        = number
  description = "How many CPUs the team may use in sum."

  validation {
    condition     = var.max_cpu > 0 && var.max_cpu <= 1000
    error_message = "A team has up to 1000 CPUs, not ${var.max_cpu}."
  }
}

variable "requirements" {
  default     = {}
  description = "Requirements beside the usual ones, or instead of them."
}

# Names in the cluster begin with the name of the module block: ml-nodes.
#
# lkeplan:ignore uncapped-plan-size the team chooses the largest plan type
pool "nodes" {
  node_class   = var.node_class
  requirements = merge({ arch = "amd64", os = "linux", class = "dedicated" }, var.requirements)
  labels       = { "example.com/team" = var.team }
  taints       = ["example.com/team=${var.team}:NoSchedule"]
  limits       = { cpu = var.max_cpu }
}
