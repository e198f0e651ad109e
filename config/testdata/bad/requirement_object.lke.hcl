pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = { gte = 4 } # want: Invalid requirement: The requirement cpu is a map. Write a value, a list of values, or a function such as lte(16) or not("a").
  }
}
