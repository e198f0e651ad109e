pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }

  disruption {
    consolidate_after = "30s" # want: Nodes are removed before their hour is over: A node goes when it was quiet for 30s. Linode bills each started hour
  }
}
