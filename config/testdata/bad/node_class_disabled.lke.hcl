node_class "gpu" {
  enabled = false
}

pool "web" {
  node_class = node_class.gpu # want: Missing value: The argument node_class is null. A reference to a block with enabled = false is null.
}
