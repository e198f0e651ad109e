pool "web" {
  node_class = node_class.default
  limits     = yamldecode("cpu: 10\ncpu: 1000\n") # want: Error in function call: Call to function "yamldecode" failed: line 2: duplicate key "cpu" in a mapping, first on line 1.
}
