# only
cluster {
  name   = "test"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "default" {} # want: Disks are not encrypted: LKE Enterprise does not encrypt the disks of nodes by default. Write disk_encryption = "enabled", or "disabled" if that is intended. Both replace the existing nodes of the class.
