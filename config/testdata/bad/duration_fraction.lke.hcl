pool "web" {
  node_class   = node_class.default
  expire_after = "1.5h" # want: Invalid duration: "1.5h" is not a duration.
}
