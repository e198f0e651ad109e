pool "web" {
  node_class = node_class.default
}

pool "api" {
  node_class = node_class.default
}

moved {
  from = pool.api # want: Moved object is still declared: pool.api is declared at moved_still_there.lke.hcl:5 and keeps its name. If you renamed the block, rename it from pool.api to pool.web. If pool.web is another block that should get this name, set name = "api" in pool.web, and another name in pool.api.
  to   = pool.web
}
