pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = ["g6-standard-2", "g6-standrad-4"] # want: Unknown plan: The price catalogue (date unknown) has no plan "g6-standrad-4". Did you mean "g6-standard-4"? If Linode has changed this since, run lkeplan catalog refresh to get today's catalogue. More: lkeplan explain unknown-plan.
  }
}
