limits "all" {
  pools = [node_class.default] # want: Not a pool: This is a LinodeNodeClass, and only pools are allowed here.
  nodes = 4
}
