limits "all" {
  pools = [node_class.default] # want: Invalid pool: The value is a LinodeNodeClass, but only pools are allowed here.
  nodes = 4
}
