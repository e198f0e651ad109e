# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image     = "linode/debian12"
  swap_size = 512 # want: Node class cannot create machines: The kubelet does not start with swap if failSwapOn of kubelet is true (fail_swap_on in HCL); set it to false or remove the swap. More: lkeplan explain class-refused.

  bootstrap {
    kind = "k3s"
  }

  kubelet {
    fail_swap_on = true
  }
}
