pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget {
      nodes    = 1
      schedule = "0 1 * * *"
      duration = "1h30m10s" # want: Invalid NodePool: The argument duration is "1h30m10s". Write hours and minutes, such as "8h", "30m" or "1h30m".
    }
  }
}
