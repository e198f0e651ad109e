# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" { # want: Node class without machines: The machine is to be in a VPC, and no subnet of it is named.
  image     = "linode/debian12"
  vpc_label = "prod"
}
