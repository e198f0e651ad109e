pool "web" {
  node_class   = node_class.default
  expire_after = "30d" # want: Invalid duration: Days are not a unit, because their length varies. Write "720h".
}
