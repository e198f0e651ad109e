pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = "g9-gpu-rtx9000a1-s" # want: Unknown plan: The price catalogue (date unknown) has no plan "g9-gpu-rtx9000a1-s". Did you mean "g2-gpu-rtx4000a1-s"? If Linode has changed this since, run lkeplan catalog refresh to get today's catalogue. More: lkeplan explain unknown-plan.
  }
}
