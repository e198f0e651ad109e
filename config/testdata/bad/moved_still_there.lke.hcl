pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = node_class.default
}

moved {
  from = pool.api # want: Moved, but still there: pool.api is still declared, at moved_still_there.lke.hcl:5, and keeps its name. To give pool.web a name of your choice, write it into the block: name = "api".
  to   = pool.web
}
