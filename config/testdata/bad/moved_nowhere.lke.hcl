pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.old
  to   = pool.webs # want: No object at this address: No pool is named "webs" in this directory. Did you mean "web"? If it was deleted, delete this moved block.
}
