node_class "web" {
  kubelet {
    max_pods = -1 # want: Invalid LinodeNodeClass: spec.kubelet.maxPods: should be greater than or equal to 0.
  }
}
