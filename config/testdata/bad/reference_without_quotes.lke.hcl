pool "web" {
  node_class   = node_class.default
  expire_after = Never # want: Unknown name: The name "Never" is not declared. Write text in quotes: "Never".
}
