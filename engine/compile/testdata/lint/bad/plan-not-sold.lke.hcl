pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = ["g6-standard-2", "g6-nanode-1"] # want: Plan type not sold in the region: The plan type g6-nanode-1 (Nanode 1GB) is not sold for standard clusters in us-ord, according to the price catalogue. If the catalogue is outdated, run "lkeplan catalog refresh" to update it. More: lkeplan explain plan-not-sold.
  }
}
