pool "web" {
  node_class   = node_class.default
  expire_after = "30d" # want: Invalid duration: Days are not a unit, as they are not always of the same length. Write "720h".
}
