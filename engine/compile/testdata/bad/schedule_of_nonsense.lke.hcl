pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "0 25 * * *" # want: Invalid schedule: "0 25 * * *" is not a schedule: end of range (25) above maximum (23): 25.
      duration = "1h"
    }
  }
}
