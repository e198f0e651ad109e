# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image     = "linode/debian12"
  swap_size = 512 # want: Node class without machines: No kubelet starts while swap is on, unless failSwapOn of kubelet is false (fail_swap_on in HCL); write that, or take the swap out.
}
