pool "web" {
  node_class = node_class.default
  replicas   = 300 # want: More nodes than LKE allows: A standard LKE cluster allows 250 nodes, and this pool has 300.
}
