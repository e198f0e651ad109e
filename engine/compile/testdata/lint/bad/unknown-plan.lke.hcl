pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = ["g6-standard-2", "g6-standrad-4"] # want: Unknown plan type: The price catalogue has no plan type "g6-standrad-4". Did you mean "g6-standard-4"? If the catalogue is outdated, run "lkeplan catalog refresh" to update it. More: lkeplan explain unknown-plan.
  }
}
