pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = "g2-gpu-rtx4000a1-s" # want: Unknown plan: There is no plan "g2-gpu-rtx4000a1-s" in the price list of
  }
}
