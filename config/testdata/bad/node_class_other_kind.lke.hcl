pool "web" {
  node_class = { kind = "EC2NodeClass", name = "x" } # want: Invalid node class: The value is a EC2NodeClass, but a pool needs a LinodeNodeClass.
}
