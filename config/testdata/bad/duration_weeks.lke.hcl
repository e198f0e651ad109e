pool "web" {
  node_class   = node_class.default
  expire_after = "2 weeks" # want: Invalid duration: Weeks are not a unit, as they are not always of the same length. Write "336h".
}
