pool "api" {
  node_class = node_class.default
  replicas   = 200
}

pool "web" {
  node_class = node_class.default
  replicas   = 100 # want: More nodes than LKE allows: A standard LKE cluster allows 250 nodes. Together with other pools, this pool requires 300. More: lkeplan explain too-many-nodes.
}
