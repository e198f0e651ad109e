pool "a" {
  node_class = node_class.default
  weight     = plan.nodes.rolled # want: Unknown name: What a change would do is known in policy blocks
}
