pool "web" {
  node_class = node_class.default
  limits { # want: Unsupported block type: Blocks of type "limits" are not expected here. Did you mean to define argument "limits"?
    cpu = 4
  }
}
