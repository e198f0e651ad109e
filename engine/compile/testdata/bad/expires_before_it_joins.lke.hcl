pool "short" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
  expire_after = "5s" # want: Nodes expire before they join: Each node is drained 5s after it was requested, and a Linode takes minutes to join the cluster: the pool keeps buying nodes on which no pod runs. Write "10m" or more, or "Never". More: lkeplan explain expires-before-it-joins.
}
