pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"

    dynamic "budget" {
      for_each = tolst([]) # want: Call to unknown function: The function "tolst" does not exist. Did you mean "tolist"?
      content {
        nodes = 1
      }
    }
  }
}
