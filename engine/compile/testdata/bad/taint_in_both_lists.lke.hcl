pool "web" {
  node_class = node_class.default
  taints     = ["example.com/team=web:NoSchedule"]
  startup_taints = [
    "example.com/agent:NoExecute",
    "example.com/team=api:NoSchedule", # want: Duplicate taint: The taint example.com/team with the effect NoSchedule is already in taints. A node can have only one taint with a key and an effect; Karpenter would not use the pool.
  ]
}
