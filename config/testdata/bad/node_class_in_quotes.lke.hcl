pool "a" {
  node_class = "node_class.default" # want: Invalid node class: The argument node_class takes a reference to a node_class block, such as node_class.default. Write it without quotes: node_class.default. For a class
}

pool "b" {
  node_class = "default" # want: Invalid node class: The argument node_class takes a reference to a node_class block, such as node_class.default. Write it without quotes: node_class.default. For a class
}
