# A pool that gets no new nodes at night.

cluster {
  name   = "dev"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 8) }
  limits       = { cpu = 400 }

  disruption {
    consolidate_after = "30m"
  }

  during "night" {
    schedule  = "0 20 * * mon-fri"
    duration  = "10h"
    time_zone = "Europe/Berlin"
    limits    = { cpu = 0 }
  }
}
