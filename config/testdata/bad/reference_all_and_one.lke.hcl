locals {
  both = [length(pool), pool.web.name] # want: Mixed references to all and to one: Here, pool is all of them; elsewhere in the same expression, pool.NAME is one.
}

pool "web" {
  node_class = node_class.default
}
