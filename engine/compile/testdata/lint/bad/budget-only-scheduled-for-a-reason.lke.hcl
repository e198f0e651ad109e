pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes   = 1
      reasons = ["Empty"]
    }

    budget {
      nodes    = 0
      schedule = "0 8 * * mon-fri" # want: No budget outside the schedule: This budget limits disruption only during its window. Outside it there is no other budget: all nodes that are Drifted and Underutilized may be
      duration = "10h"
    }
  }
}
