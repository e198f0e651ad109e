pool "web" {
  node_class    = node_class.default
  refresh_after = "1m" # want: Invalid age: The nodes of a pool cannot be replaced at the age 1m. Write 10m or more, such as "720h", or delete refresh_after.
}
