pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          requirements = [{ key = "example.com/tier", operator = "Exists", values = ["web"] }] # want: Field with an argument of its own: && Values without effect: Exists takes no values; Karpenter would ignore web.
        }
      }
    }
  }
}
