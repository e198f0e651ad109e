pool "web" {
  node_class = node_class.default
  requirements = {
    memory = gte("8 GB") # want: Invalid requirement: memory: "8 GB" is not an amount; write it as "8Gi", or as a whole number of MiB.
  }
}
