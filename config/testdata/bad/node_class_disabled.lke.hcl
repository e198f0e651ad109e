node_class "gpu" {
  enabled = false
}

pool "web" {
  node_class = node_class.gpu # want: Missing value: The argument node_class is null, and a pool needs a node class. If it refers to a block with enabled = false, refer to another block.
}
