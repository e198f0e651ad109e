pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = "g9-gpu-rtx9000a1-s" # want: Unknown plan: There is no plan "g9-gpu-rtx9000a1-s" in the price list of
  }
}
