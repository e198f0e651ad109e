pool "web" { # want: Unclosed configuration block
  node_class = node_class.default
