pool "web" {
  node_class = { kind = "EC2NodeClass", name = "x" } # want: Not a node class: This is a EC2NodeClass, and a pool needs a LinodeNodeClass.
}
