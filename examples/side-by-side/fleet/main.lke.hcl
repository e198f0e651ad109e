# Three teams, four pools: what they share is written once. objects.yaml
# has the same objects as YAML, which grows with each team.

variable "environment" {
  type        = string
  description = "Which environment this directory is compiled for."
  default     = "prod"

  validation {
    condition     = contains(["staging", "prod"], var.environment)
    error_message = "environment is \"staging\" or \"prod\", not \"${var.environment}\"."
  }
}

variable "teams" {
  description = "One pool is made for each team."
  type = map(object({
    max_cpu   = number
    classes   = optional(list(string), ["dedicated"])
    gpu       = optional(bool, false)
    exclusive = optional(bool, true)
  }))
  default = {
    search = { max_cpu = 200 }
    ml     = { max_cpu = 96, classes = ["gpu"], gpu = true }
    web    = { max_cpu = 320, classes = ["dedicated", "standard"], exclusive = false }
  }
}

cluster {
  name   = "acme-${var.environment}"
  region = "us-ord"
}

locals {
  owner = "example.com/team"

  base = {
    arch = "amd64"
    os   = "linux"
    cpu  = between(2, 48)
  }

  office_hours = var.environment == "prod" ? ["0 13 * * mon-fri"] : []
}

node_class "default" {
  tags            = ["env:${var.environment}"]
  disk_encryption = "enabled"
}

pool "team" {
  for_each   = var.teams
  node_class = node_class.default

  requirements = merge(local.base, {
    class     = each.value.classes
    gpu_count = each.value.gpu ? gte(1) : absent()
  })

  labels = { (local.owner) = each.key }
  taints = each.value.exclusive ? ["${local.owner}=${each.key}:NoSchedule"] : []
  limits = { cpu = each.value.max_cpu }

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    # lkeplan:ignore expiry-without-budget nodes may expire in office hours
    dynamic "budget" {
      for_each = local.office_hours
      content {
        nodes    = 0
        schedule = budget.value
        duration = "10h"
      }
    }
  }
}

pool "warm" {
  enabled      = var.environment == "prod"
  node_class   = node_class.default
  requirements = merge(local.base, { instance_type = "g6-dedicated-8" })
  replicas     = 3
  limits       = { nodes = 4 }
}

check "every_team_is_capped" {
  assert {
    condition     = alltrue([for p in values(pool) : can(p.limits.cpu) || can(p.replicas)])
    error_message = "Every pool needs limits.cpu (or a fixed number of replicas)."
  }
}
