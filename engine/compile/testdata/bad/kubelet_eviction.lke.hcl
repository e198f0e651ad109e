node_class "web" {
  kubelet { # want: Invalid LinodeNodeClass: spec.kubelet: evictionSoft OwnerKey does not have a matching evictionSoftGracePeriod.
    eviction_soft = { "memory.available" = "1Gi" }
  }
}
