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
      schedule = "0 8 * * mon-fri" # want: No budget outside the schedule: This budget limits disruption only while its schedule is active. At other times no budget applies: all nodes that are Drifted or Underutilized may be disrupted at the same time. Add a budget without a schedule, such as nodes = "10%". More: lkeplan explain budget-only-scheduled.
      duration = "10h"
    }
  }
}
