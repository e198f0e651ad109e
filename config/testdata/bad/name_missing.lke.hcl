pool { # want: Missing name for pool: All pool blocks must have 1 labels (name).
  node_class = node_class.default
}
