# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image          = "linode/debian12"
  firewall_id    = 7 # want: Node class cannot create machines: Spec.select also selects one; keep only one of them. More: lkeplan explain class-refused.
  firewall_label = "web"
}
