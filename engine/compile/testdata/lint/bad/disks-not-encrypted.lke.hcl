# only
cluster {
  name   = "test"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "default" {} # want: Disks are not encrypted: LKE Enterprise does not encrypt the disks of nodes unless it is asked to.
