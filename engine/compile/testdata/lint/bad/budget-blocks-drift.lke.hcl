pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    budget {
      nodes   = 0 # want: Budget blocks the replacement of nodes: The budget allows no node to be replaced for drift, at any time
      reasons = ["Drifted"]
    }
  }
}
