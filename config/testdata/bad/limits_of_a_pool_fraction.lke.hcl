pool "web" {
  node_class = node_class.default
  limits = {
    nodes                 = 1.5    # want: Whole number required: nodes = 1.5 is not a whole number. Write a number such as 10.
    pods                  = "500m" # want: Whole number required
    "nvidia.com/gpu"      = 0.5    # want: Whole number required
    cpu                   = 1.5
  }
}
