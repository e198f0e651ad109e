pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"
  }

  disruption { # want: Duplicate block: Only one disruption block is allowed here.
    consolidate_after = "6m"
  }
}
