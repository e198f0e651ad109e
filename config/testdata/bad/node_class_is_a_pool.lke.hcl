pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = pool.web # want: Not a node class: This is a NodePool, and a pool needs a LinodeNodeClass.
}
