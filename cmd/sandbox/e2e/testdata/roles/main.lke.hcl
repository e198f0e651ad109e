cluster {
  name   = "sandbox"
  region = "us-ord"
}

variable "token" {
  type = string

  validation {
    condition     = length(var.token) > 3
    error_message = "A token is longer."
  }
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  weight       = 10
  labels       = {}

  disruption {
    consolidate_after = "0s"
  }
}

# pruned

pool "spare" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 2 }
  limits       = { cpu = 0 }
}

limits "all" {
  nodes = 10
}

overlay "discount" {
  requirements = { class = "dedicated" }
  price_adjustment = "+10%"
}

buffer "spare" {
  namespace    = "default"
  pod_template = "spare"
  replicas     = 1
}
