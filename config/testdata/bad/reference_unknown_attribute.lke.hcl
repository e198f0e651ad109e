pool "web" {
  node_class = node_class.default
  weight     = 10
}

pool "api" {
  node_class = node_class.default
  weight     = pool.web.wieght # want: Unsupported attribute: This object does not have an attribute named "wieght". Did you mean "weight"?
}
