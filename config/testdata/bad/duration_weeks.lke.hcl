pool "web" {
  node_class   = node_class.default
  expire_after = "2 weeks" # want: Invalid duration: Weeks are not a unit, because their length varies. Write "336h".
}
