pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = node_class.default
}

moved {
  from = pool.api # want: Moved object is still declared: pool.api is declared at moved_still_there.lke.hcl:5 and keeps its name. To set the name of pool.web, write it in the block: name = "api".
  to   = pool.web
}
