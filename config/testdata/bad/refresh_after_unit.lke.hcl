pool "web" {
  node_class    = node_class.default
  refresh_after = "720" # want: Invalid duration: 720 has no unit. Write "720h", "720m" or "720s".
}
