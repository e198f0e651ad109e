pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = pool.web # want: Invalid node class: The value is a NodePool, but a pool needs a LinodeNodeClass.
}
