pool "web" {
  node_class = node_class.default
  in_place   = ["lkeplan.dev/condemned"] # want: Reserved key: The key lkeplan.dev/condemned belongs to lkeplan and cannot change in place. Delete it from in_place.
}

pool "api" {
  node_class = node_class.default
  in_place = [
    "topology.kubernetes.io/zone", # want: Reserved key: The key topology.kubernetes.io/zone belongs to Kubernetes and cannot change in place. Delete it from in_place.
    "lke.linode.com/pool-id",      # want: Reserved key: The key lke.linode.com/pool-id belongs to Linode and cannot change in place.
    "a b",                         # want: Invalid key
  ]
}
