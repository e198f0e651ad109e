pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes    = "0%" # want: Budget never allows a disruption: The budget allows no disruption, at all times, because each window of 24h lasts until the next one starts: no node is ever consolidated, and a change of the pool does not reach existing nodes until they expire. Allow at least one node, or set a duration that ends before the next window starts. More: lkeplan explain budget-never-opens.
      schedule = "@daily"
      duration = "24h"
    }
  }
}
