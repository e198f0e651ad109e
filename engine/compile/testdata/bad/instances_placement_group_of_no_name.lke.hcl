# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  placement_group { # want: Node class cannot create machines: No group is set; set the id of a group, its label in spec.select, or perPool. More: lkeplan explain class-refused.
    compliant_only = true
  }
}
