pool "web" {
  node_class = node_class.default
  limits     = { memory = "1600 Gi" } # want: Invalid amount: "1600 Gi" is not an amount of memory. Write bytes with a unit, such as "1600Gi".
}
