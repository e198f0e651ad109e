pool "web" {
  node_class = node_class.default
  name       = "a${replace("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a", "aa")}b" # want: Invalid object name: The name of the object would be "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab".
}
