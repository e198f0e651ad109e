pool "web" {
  node_clas = node_class.default # want: Unsupported argument: An argument named "node_clas" is not expected here. Did you mean "node_class"?
}
