pool "web" {
  node_class    = node_class.default
  requirements  = { cpu = between(2, 8) }
  expire_after  = "2160h"
  refresh_after = "720h"

  disruption {
    consolidate_after = "10m"

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
