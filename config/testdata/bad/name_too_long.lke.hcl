pool "web" {
  node_class = node_class.default
  name       = "a${replace("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a", "aa")}b" # want: Invalid object name: The object would be named "aaaaaaaaaa
}
