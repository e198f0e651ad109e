pool "web" {
  node_class = node_class.default
  name       = "my_pool" # want: Invalid object name: The name of the object would be "my_pool". A name contains lower-case letters, digits, dashes and dots, and at most 63 characters; it and each part between dots start and end with a letter or digit. Set it with the argument name.
}
