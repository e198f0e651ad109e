pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = ["g6-standard-2", "g6-nanode-1"] # want: Plan not sold in the region: The plan g6-nanode-1 (Nanode 1GB) is not sold for standard clusters in us-ord, according to the price catalogue (date unknown). If Linode has changed this since, run lkeplan catalog refresh to get today's catalogue. More: lkeplan explain plan-not-sold.
  }
}
