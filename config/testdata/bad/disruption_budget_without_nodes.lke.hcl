pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    budget { # want: Missing required argument: The argument "nodes" is required
      reasons = ["Empty"]
    }
  }
}
