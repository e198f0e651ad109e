# only
cluster {
  name   = "test"
  region = "us-east"
  tier   = "enterprise" # want: Tier not available in the region: The region us-east (Newark, NJ) has no LKE clusters of the enterprise tier according to the price catalogue
}

node_class "default" {
  disk_encryption = "enabled"
}
