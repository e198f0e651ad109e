pool "web" {
  node_class = node_class.default
  limits     = yamldecode("cpu: 10\ncpu: 1000\n") # want: Error in function call: Call to function "yamldecode" failed: line 2: the key "cpu" is given twice in one mapping, first on line 1.
}
