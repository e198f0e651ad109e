pool "web" {
  node_class   = node_class.default
  requirements = ["amd64"] # want: Wrong type of value: The argument requirements takes a map such as { arch = "amd64", cpu = between(4, 32) }.
}
