node_class "web" {
  firewall_id = 12345 # want: Firewall without effect: On the standard tier lkeplan makes LKE node pools without a firewall: 12345 has no effect on the nodes, and a change of it replaces them all the same. Take it out before there are nodes.
}
