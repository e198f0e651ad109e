# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  placement_group { # want: Node class without machines: It names no group: set its id, its label in spec.select, or perPool.
    compliant_only = true
  }
}
