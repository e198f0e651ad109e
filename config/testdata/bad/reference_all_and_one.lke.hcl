locals {
  both = [length(pool), pool.web.name] # want: Reference to all and to one: Here pool stands for all of them, elsewhere in the same expression pool.NAME stands for one.
}

pool "web" {
  node_class = node_class.default
}
