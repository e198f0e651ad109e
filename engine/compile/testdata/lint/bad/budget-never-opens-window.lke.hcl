pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes    = "0%" # want: Budget never opens: The budget allows no node to be disrupted, at all times, as a window of 24h begins again before it ends:
      schedule = "@daily"
      duration = "24h"
    }
  }
}
