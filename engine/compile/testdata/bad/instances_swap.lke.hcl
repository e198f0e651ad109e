# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image     = "linode/debian12"
  swap_size = 512 # want: Node class without machines: No kubelet starts while swap is on if failSwapOn of kubelet is true (fail_swap_on in HCL); write false, or take the swap out.

  bootstrap {
    kind = "k3s"
  }

  kubelet {
    fail_swap_on = true
  }
}
