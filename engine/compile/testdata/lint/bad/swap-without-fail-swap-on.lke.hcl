# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image     = "linode/debian12"
  swap_size = 512 # want: Swap without fail_swap_on: With kubeadm, the kubelet does not start while swap is on, unless failSwapOn is false. Write fail_swap_on = false in kubelet, which replaces the nodes, or ignore this if the cluster's kubelet-config has it.
}
