pool "web" {
  node_class = node_class.default
}

moved {
  from = pool.old
  to   = pool.webs # want: Nothing at this address: There is no pool named "webs" in this directory. Did you mean "web"? If it is gone for good, remove this block.
}
