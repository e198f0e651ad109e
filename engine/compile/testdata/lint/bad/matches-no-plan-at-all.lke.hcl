pool "web" {
  node_class = node_class.default
  requirements = {
    class = "dedicatd" # want: No plan type meets the requirements of the pool: None of the 42 plan types that are sold in us-ord for the standard tier meets the requirement on class (dedicatd). The plan types have the following values of class: dedicated, gpu, highmem, premium, standard. This pool never gets nodes. More: lkeplan explain matches-no-plan.
    cpu   = lte(16)
  }
}
