pool "web" {
  node_class = node_class.default
  weight = 1
  weight = 2 # want: Attribute redefined: 
}
