node_class "web" {
  firewall_id = 12345 # want: Firewall without effect: lkeplan puts LKE node pools of the standard tier behind no firewall of yours: 12345 has no effect on the nodes, and a change of it replaces them all the same. Take it out.
}
