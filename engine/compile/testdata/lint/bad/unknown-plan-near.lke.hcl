pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = "g6-standard-5" # want: Unknown plan type: The price catalogue has no plan type "g6-standard-5". This pool never gets nodes. Did you mean "g6-standard-4" or "g6-standard-6"?
  }
}
