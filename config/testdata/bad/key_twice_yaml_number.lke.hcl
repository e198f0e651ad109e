pool "web" {
  node_class = node_class.default
  labels     = yamldecode("a: {1: x, \"1\": y}").a # want: Error in function call: Call to function "yamldecode" failed: line 1: the key "1" is given twice in one mapping, first on line 1.
}
