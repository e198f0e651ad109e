pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = gte(4)
    cpu = lt(9) # want: Key given twice: "cpu" is in this object already, on line 4, and only the last one would count.
  }
}
