# What follows from an error is not reported again.
locals {
  base  = upper(1, 2) # want: Too many function arguments
  other = "${local.base}-x"
}

pool "web" {
  for_each   = local.base
  node_class = node_class.default
  name       = local.other
}

pool "api" {
  node_class = pool.web
  weight     = "x" # want: Wrong type of value
}
