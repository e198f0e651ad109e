pool "web" {
  node_class = node_class.default
  name       = "my_pool" # want: Invalid object name: The object would be named "my_pool". A name has small letters, digits, dashes and dots, begins and ends with a letter or digit, as each part between dots does, and has 63 characters at most. Set it with the argument name.
}
