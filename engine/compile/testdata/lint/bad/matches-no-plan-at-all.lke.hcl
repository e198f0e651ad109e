pool "web" {
  node_class = node_class.default
  requirements = {
    class = "dedicatd" # want: Pool matches no plan: None of the 42 plans that are sold in us-ord on the standard tier has class (dedicatd). Their values are: dedicated, gpu, highmem, premium, standard.
    cpu   = lte(16)
  }
}
