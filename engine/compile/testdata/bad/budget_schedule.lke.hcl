pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "often" # want: Invalid NodePool: The argument schedule is "often". Write the five fields of cron, in UTC, such as "0 13 * * mon-fri", or a word such as "@daily".
      duration = "1h"
    }
  }
}
