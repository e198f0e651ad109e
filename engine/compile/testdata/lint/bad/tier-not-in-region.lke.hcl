# only
cluster {
  name   = "test"
  region = "us-east"
  tier   = "enterprise" # want: Tier not available in the region: The region us-east (Newark, NJ) has no LKE clusters of the enterprise tier, according to the price catalogue. Regions that have them: br-gru, de-fra-2, es-mad, fr-par and 18 more. If the catalogue is outdated, run "lkeplan catalog refresh" to update it. More: lkeplan explain tier-not-in-region.
}

node_class "default" {
  disk_encryption = "enabled"
}
