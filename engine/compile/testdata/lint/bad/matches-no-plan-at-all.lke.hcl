pool "web" {
  node_class = node_class.default
  requirements = {
    class = "dedicatd" # want: Pool matches no plan: None of the 42 plans that are sold in us-ord on the standard tier meets the requirement on class (dedicatd). These plans have the following values of class: dedicated, gpu, highmem, premium, standard. This pool never gets nodes. More: lkeplan explain matches-no-plan.
    cpu   = lte(16)
  }
}
