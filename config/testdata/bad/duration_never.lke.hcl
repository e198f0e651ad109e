pool "web" {
  node_class   = node_class.default
  expire_after = "never" # want: Invalid duration: Write "Never".
}
