pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "0 25 * * *" # want: Invalid schedule: "0 25 * * *" is not a schedule: "25" is not a valid hour (0 to 23).
      duration = "1h"
    }
  }
}
