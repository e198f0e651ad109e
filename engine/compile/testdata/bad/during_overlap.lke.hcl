pool "web" {
  node_class = node_class.default

  during "evening" {
    schedule = "0 18 * * *"
    duration = "4h"
    limits   = { cpu = 10 }
  }

  during "night" { # want: Overlapping during blocks: The during blocks "evening" and "night" both set limits, and both are active at 20:00 UTC on Thursday 1 January 2026
    schedule = "0 20 * * *"
    duration = "10h"
    limits   = { cpu = 0 }
  }
}
