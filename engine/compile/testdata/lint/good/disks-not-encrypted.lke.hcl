# only
cluster {
  name   = "test"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "default" {
  disk_encryption = "disabled"
}
