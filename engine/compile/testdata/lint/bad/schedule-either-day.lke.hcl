pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    budget {
      nodes    = 1
      schedule = "0 8 1-7 * mon" # want: Schedule names two kinds of days: "0 8 1-7 * mon" starts on each day of the month that "1-7" names
      duration = "10h"
    }
  }
}
