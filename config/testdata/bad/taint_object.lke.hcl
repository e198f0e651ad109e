pool "web" {
  node_class = node_class.default
  taints     = [{ key = "a" }] # want: Wrong type of value: The argument taints takes a list such as ["team=web:NoSchedule"]: its value 1 of 1 has the wrong type: string required, but have object.
}
