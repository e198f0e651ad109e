pool "web" {
  node_class   = node_class.default
  expire_after = "2562048h" # want: Invalid duration: 2562048h is longer than 292 years, the longest possible duration.
}
