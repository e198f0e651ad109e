# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" { # want: Node class without machines: A VPC is set without a subnet.
  image     = "linode/debian12"
  vpc_label = "prod"
}
