pool "web" {
  node_class = node_class.default
  labels     = yamldecode("a: {1: x, \"1\": y}").a # want: Error in function call: Call to function "yamldecode" failed: line 1: duplicate key "1" in a mapping, first on line 1.
}
