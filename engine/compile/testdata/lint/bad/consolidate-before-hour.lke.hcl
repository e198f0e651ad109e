pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }

  disruption {
    consolidate_after = "30s" # want: Nodes are removed before their paid hour is over: Karpenter may remove a node 30s after a pod was last added to it or removed from it. Linode bills whole hours, so you pay for the rest of the hour, and for another node if the pods come back. Write "5m" or more, such as "15m". More: lkeplan explain consolidate-before-hour.
  }
}
