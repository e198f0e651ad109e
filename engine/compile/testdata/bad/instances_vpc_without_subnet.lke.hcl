# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" { # want: Node class cannot create machines: A VPC is set without a subnet; set a subnet of the VPC. More: lkeplan explain class-refused.
  image     = "linode/debian12"
  vpc_label = "prod"
}
