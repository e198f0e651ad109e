pool "web" {
  node_class    = node_class.default
  refresh_after = "-1h" # want: Invalid duration: -1h is negative. A duration is 0 or more, such as "5m".
}
