pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }

  disruption {
    consolidate_after = "5m"
  }
}

pool "kept" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  taints       = ["example.com/kept:NoSchedule"]

  disruption {
    consolidate_after = "Never"
  }
}
