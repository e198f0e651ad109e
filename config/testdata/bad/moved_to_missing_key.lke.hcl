pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.team["mll"] # want: No object at this address: pool.team has no element "mll". Did you mean "ml"? The keys are ml, web.
}
