pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = atmost(4) # want: Call to unknown function: The function "atmost" does not exist.
  }
}
