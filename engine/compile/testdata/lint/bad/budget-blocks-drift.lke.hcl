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
      nodes   = 0 # want: Budget blocks the replacement of nodes: The budget never allows drifted nodes to be replaced: a change of the pool or of its node class does not reach existing nodes until they expire. Allow at least one node for the reason Drifted, or give the budget a schedule. More: lkeplan explain budget-blocks-drift.
      reasons = ["Drifted"]
    }
  }
}
