pool "web" {
  node_class   = node_class.default
  expire_after = Never # want: Unknown name: There is nothing named "Never" here. Text is written in quotes: "Never".
}
