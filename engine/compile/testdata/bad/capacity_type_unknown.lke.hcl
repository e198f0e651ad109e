pool "web" {
  node_class   = node_class.default
  requirements = { capacity_type = "ondemand" } # want: Unknown capacity type: Linode sells on demand only, so there is never "ondemand". Did you mean "on-demand"?
}
