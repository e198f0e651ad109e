pool "web" {
  node_class = node_class.default
  replicas   = 300 # want: More nodes than LKE allows: A standard LKE cluster has room for 250 nodes, and these are 300.
}
