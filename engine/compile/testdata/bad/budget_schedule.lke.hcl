pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "often" # want: Invalid NodePool: spec.disruption.budgets[0].schedule: "often" is not valid for schedule: When the budget starts to apply, in cron notation and UTC, such as "0 13 * * mon-fri".
      duration = "1h"
    }
  }
}
