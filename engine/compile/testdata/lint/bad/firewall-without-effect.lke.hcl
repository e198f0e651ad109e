node_class "web" {
  firewall_id = 12345 # want: Firewall without effect: On the standard tier, lkeplan creates LKE node pools without a firewall: firewall_id = 12345 has no effect, but a change of it replaces the nodes. Remove it before the class has nodes. More: lkeplan explain firewall-without-effect.
}
