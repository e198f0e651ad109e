pool "web" {
  node_class = node_class.default
}

moved {
  from = one(["pool.a"]) # want: Not an address: The argument from takes the address
  to   = pool.web
}
