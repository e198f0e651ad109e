# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  data_disk "sdb" { # want: Node class cannot create machines: Linodes are created with one disk and swap; further disks are not supported. More: lkeplan explain class-refused.
    size = "20Gi"
  }
}
