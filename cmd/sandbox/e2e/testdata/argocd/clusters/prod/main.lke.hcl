variable "teams" {
  description = "Who gets a pool"
  type        = list(string)
}

variable "sizes" {
  description = "CPUs of a node"
  type        = map(number)
  default     = { min = 4, max = 8 }
}

variable "owner" {
  description = "Whom to ask"
  type        = string
  default     = "platform"
}

variable "spot" {
  type    = any
  default = null
}

cluster {
  name   = "sandbox"
  region = "us-ord"
}

guards {
  protected = [pool.general]
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  weight       = 10
  requirements = { class = "standard", cpu = between(var.sizes.min, var.sizes.max) }

  metadata {
    annotations = { "example.com/owner" = var.owner }
  }
}

module "team" {
  for_each   = toset(var.teams)
  source     = "../../modules/team"
  team       = each.key
  node_class = node_class.default
}

limits "all" {
  nodes = 20
}
