pool "2xl" { # want: Invalid name: "2xl" cannot be referred to as pool.2xl. A label begins with a letter
  node_class = node_class.default
}
