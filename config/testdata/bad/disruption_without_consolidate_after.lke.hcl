pool "web" {
  node_class = node_class.default

  disruption { # want: Missing required argument: The argument "consolidate_after" is required
    policy = "WhenEmpty"
  }
}
