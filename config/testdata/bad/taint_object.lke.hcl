pool "web" {
  node_class = node_class.default
  taints     = [{ key = "a" }] # want: Wrong type of value: The argument taints takes a list such as ["team=web:NoSchedule"]. Element 0: string required, not object.
}
