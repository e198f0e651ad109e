pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = ["g6-standard-2", "g6-standrad-4"] # want: Unknown plan: There is no plan "g6-standrad-4" in the price list of
  }
}
