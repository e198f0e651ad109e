node_class "a" {}

policy "p" {
  condition     = plan.nodes.rolled < 4 && cluster.tier == "enterprise" || length(keys(node_class)) > 1
  error_message = "No."
}

policy "q" {
  condition     = length(keys(node_class)) > 9 # want: Policy violated: No.
  error_message = "No."
}
