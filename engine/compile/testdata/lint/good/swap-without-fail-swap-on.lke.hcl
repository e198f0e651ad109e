# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image     = "linode/debian12"
  swap_size = 512

  kubelet {
    fail_swap_on = false
  }
}

node_class "none" {
  image     = "linode/debian12"
  swap_size = 0
}

node_class "k3s" {
  image     = "linode/debian12"
  swap_size = 512

  bootstrap {
    kind = "k3s"
  }
}
