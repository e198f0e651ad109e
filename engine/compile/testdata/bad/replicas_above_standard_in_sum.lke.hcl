pool "api" {
  node_class = node_class.default
  replicas   = 200
}

pool "web" {
  node_class = node_class.default
  replicas   = 100 # want: More nodes than LKE allows: A standard LKE cluster allows 250 nodes, and with this pool the static pools have 300.
}
