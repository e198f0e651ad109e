pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "at nine on each monday" # want: Invalid schedule: "at nine on each monday" is not a schedule: "at" is not a valid minute (0 to 59)
      duration = "1h"
    }
  }
}
