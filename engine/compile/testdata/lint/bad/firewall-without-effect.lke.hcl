node_class "web" {
  firewall_id = 12345 # want: Firewall without effect: On the standard tier, lkeplan creates LKE node pools without a firewall: 12345 has no effect on the nodes, but a change of it replaces them. Remove it before the class has nodes.
}
