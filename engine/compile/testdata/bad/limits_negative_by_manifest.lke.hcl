pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      limits = { cpu = "-4" } # want: Field has an argument: && Negative amount: cpu = -4 is negative, so the pool could not have any node. Write 0 or more, or remove the limit. More: lkeplan explain negative-limit.
    }
  }
}
