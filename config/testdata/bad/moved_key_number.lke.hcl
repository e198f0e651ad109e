pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

moved {
  from = pool.a
  to   = pool.team[0] # want: Not an address: The argument to takes the address
}
