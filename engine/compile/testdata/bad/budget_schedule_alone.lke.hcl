pool "web" {
  node_class = node_class.default

  disruption { # want: Invalid NodePool: A budget with a schedule also needs a duration, and a budget with a duration also needs a schedule.
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "0 1 * * *"
    }
  }
}
