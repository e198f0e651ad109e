pool { # want: Missing name for pool: Write a name in quotation marks after the word pool, as in pool "NAME" { }.
  node_class = node_class.default
}
