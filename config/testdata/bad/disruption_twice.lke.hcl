pool "web" {
  node_class = node_class.default

  disruption {
    consolidate_after = "5m"
  }

  disruption { # want: Block given twice: There can be only one such disruption block here.
    consolidate_after = "6m"
  }
}
