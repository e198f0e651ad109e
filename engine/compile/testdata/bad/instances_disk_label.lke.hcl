# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  os_disk { # want: Node class cannot create machines: Only its size has an effect, because the disk is created from the image. More: lkeplan explain class-refused.
    size  = "20Gi"
    label = "system"
  }
}
