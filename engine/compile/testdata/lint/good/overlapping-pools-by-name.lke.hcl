pool "team" {
  for_each     = toset(["a", "b", "c"])
  node_class   = node_class.default
  weight       = 3
  requirements = { cpu = lte(8) }
  taints       = ["example.com/team=${each.key}:NoSchedule"]
}
