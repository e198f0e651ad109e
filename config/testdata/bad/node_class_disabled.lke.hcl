node_class "gpu" {
  enabled = false
}

pool "web" {
  node_class = node_class.gpu # want: Value missing: The argument node_class is null. A block with enabled = false is null where it is referred to.
}
