cluster {
  name   = "prod"
  region = "nl-ams"
}

node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 8) }
  limits       = { cpu = 120 }
  expire_after = "720h"

  disruption {
    consolidate_after = "15m"

    budget {
      nodes = 1
    }

    budget {
      nodes    = 0
      schedule = "0 8 * * mon-fri"
      duration = "10h"
    }
  }
}
