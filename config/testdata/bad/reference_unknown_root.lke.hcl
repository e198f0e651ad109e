pool "web" {
  node_class = node_class.default
  weight     = vars.weight # want: Unknown name: The name "vars" is not declared. Did you mean "var"? References start with one of: cluster, local, module, node_class, pool, var.
}
