pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    dynamic "budgets" { # want: Unsupported block type: Blocks of type "budgets" are not expected here.
      for_each = []
      content {}
    }
  }
}
