pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = "g9-gpu-rtx9000a1-s" # want: Unknown plan type: The price catalogue has no plan type "g9-gpu-rtx9000a1-s". This pool never gets nodes. Did you mean "g2-gpu-rtx4000a1-s"? If the catalogue is outdated, run "lkeplan catalog refresh" to update it. More: lkeplan explain unknown-plan.
  }
}
