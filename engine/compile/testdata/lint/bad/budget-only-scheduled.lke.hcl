pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes    = 0
      schedule = "0 8 * * mon-fri" # want: No budget outside of the schedule: A budget restricts, and this one does so in its window only. Outside of it there is no other: all nodes may be disrupted at once.
      duration = "10h"
    }
  }
}
