pool "web" {
  node_class   = node_class.default
  requirements = { capacity_type = "ondemand" } # want: Unknown capacity type: Linode has only the capacity type on-demand, so "ondemand" never matches. Did you mean "on-demand"? Remove the requirement: every pool requires on-demand. More: lkeplan explain capacity-type.
}
