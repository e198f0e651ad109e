pool "a" {
  node_class = node_class.default
  weight     = plan.nodes.rolled # want: Unknown name: The effects of a change are known only in policy blocks.
}
