pool "web" {
  node_class = node_class.default
  limits     = { memory = "1600 Gi" } # want: Invalid amount: "1600 Gi" is not an amount of memory. Write a number, optionally with a unit, as in "1600Gi" or "500m".
}
