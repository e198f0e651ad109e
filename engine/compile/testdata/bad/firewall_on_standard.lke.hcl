node_class "web" {
  firewall_id = 12345 # want: Node class without machines: Only LKE Enterprise puts a firewall in front of a node pool; this cluster is of the standard tier; remove it.
}
