pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes    = "0%" # want: Budget never opens: The budget allows no disruption, at all times, because a window of 24h starts again before it ends: no node is ever consolidated, and no change of the pool reaches its nodes before they expire.
      schedule = "@daily"
      duration = "24h"
    }
  }
}
