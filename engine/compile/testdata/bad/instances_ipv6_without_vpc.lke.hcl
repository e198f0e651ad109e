# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  ipv6 { # want: Node class cannot create machines: The options apply only to addresses in a VPC, and no VPC is set. More: lkeplan explain class-refused.
    slaac = true
  }
}
