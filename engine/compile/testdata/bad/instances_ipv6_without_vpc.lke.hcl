# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  ipv6 { # want: Node class without machines: It applies to addresses in a VPC, and no VPC is set.
    slaac = true
  }
}
