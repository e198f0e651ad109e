pool "web" {
  node_class   = node_class.default
  requirements = { capacity_type = "ondemand" } # want: Unknown capacity type: Linode sells only on demand, so there is never "ondemand". Did you mean "on-demand"?
}
