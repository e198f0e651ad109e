# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image     = "linode/debian12"
  swap_size = 512 # want: Swap without fail_swap_on: With kubeadm, the kubelet does not start while swap is on, unless failSwapOn is false. Write fail_swap_on = false in the kubelet block, which replaces the nodes. If the ConfigMap kubelet-config of the cluster already sets failSwapOn: false, suppress this warning. More: lkeplan explain swap-without-fail-swap-on.
}
