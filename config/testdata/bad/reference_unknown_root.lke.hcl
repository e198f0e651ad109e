pool "web" {
  node_class = node_class.default
  weight     = vars.weight # want: Unknown name: There is nothing named "vars" here. Did you mean "var"? References begin with one of: cluster, local, module, node_class, pool, var.
}
