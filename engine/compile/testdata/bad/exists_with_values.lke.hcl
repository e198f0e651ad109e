pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          requirements = [{ key = "example.com/tier", operator = "Exists", values = ["web"] }] # want: Field has an argument: && Values without effect: Exists takes no values; Karpenter would ignore web.
        }
      }
    }
  }
}
