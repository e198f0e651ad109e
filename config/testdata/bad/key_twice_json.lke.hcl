pool "web" {
  node_class = node_class.default
  limits     = jsondecode("{\"cpu\": 10,\n\"cpu\": 1000}") # want: Error in function call: Call to function "jsondecode" failed: line 2: duplicate key "cpu" in an object, first on line 1.
}
