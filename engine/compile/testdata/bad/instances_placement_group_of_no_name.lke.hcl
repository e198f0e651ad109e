# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  placement_group { # want: Node class without machines: Say which one: by its id, by its label in spec.select, or with perPool.
    compliant_only = true
  }
}
