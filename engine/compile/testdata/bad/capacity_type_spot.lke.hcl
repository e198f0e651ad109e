pool "web" {
  node_class   = node_class.default
  requirements = { capacity_type = ["on-demand", "spot"] } # want: Unknown capacity type: Linode has only the capacity type on-demand, so "spot" never matches. Remove the requirement: every pool requires on-demand. More: lkeplan explain capacity-type.
}
