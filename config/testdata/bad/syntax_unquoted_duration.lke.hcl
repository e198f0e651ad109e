pool "web" {
  node_class   = node_class.default
  expire_after = 30d # want: Missing newline after argument
}
