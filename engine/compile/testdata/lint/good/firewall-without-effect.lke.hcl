# only
cluster {
  name   = "test"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "web" {
  firewall_id     = 12345
  disk_encryption = "enabled"
}
