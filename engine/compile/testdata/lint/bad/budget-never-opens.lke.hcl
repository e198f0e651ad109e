pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "Never"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = 0 # want: Budget never allows a disruption: The budget allows no disruption, at all times: no node is ever consolidated, and a change of the pool does not reach existing nodes until they expire. Allow at least one node, or give the budget a schedule and a duration. More: lkeplan explain budget-never-opens.
    }
  }
}
