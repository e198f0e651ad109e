# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  data_disk "sdb" { # want: Node class without machines: Linodes are created with one disk and swap; further disks are not supported.
    size = "20Gi"
  }
}
