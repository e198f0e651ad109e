pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = 0 # want: Budget never opens: The budget allows no node to be disrupted, at all times: none is ever merged
    }
  }
}
