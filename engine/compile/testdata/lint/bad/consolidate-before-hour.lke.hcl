pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }

  disruption {
    consolidate_after = "30s" # want: Nodes are removed before their hour is over: A node is removed after 30s without changes. Linode bills each started hour, so you pay for it anyway, and pay for a second node if its pods return within the hour. Write 5m or more.
  }
}
