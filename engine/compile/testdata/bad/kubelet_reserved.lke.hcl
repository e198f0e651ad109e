node_class "web" {
  kubelet {
    system_reserved = { gpu = 1 } # want: Invalid LinodeNodeClass: spec.kubelet.systemReserved: valid keys for systemReserved are
  }
}
