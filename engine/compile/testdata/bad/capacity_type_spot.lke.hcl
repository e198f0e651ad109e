pool "web" {
  node_class   = node_class.default
  requirements = { capacity_type = ["on-demand", "spot"] } # want: Unknown capacity type: Linode sells only on demand, so "spot" never matches. Remove the requirement: every pool requires on-demand.
}
