# only
cluster {
  name   = "test"
  region = "us-east"
  tier   = "enterprise" # want: Tier not available in the region: The region us-east (Newark, NJ) has no LKE clusters of the enterprise tier by the price list
}

node_class "default" {
  disk_encryption = "enabled"
}
