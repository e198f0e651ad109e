pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          requirements = [{ key = "example.com/tier", operator = "Exists", values = ["web"] }] # want: Field has an argument: && Values without effect: Exists has no values; Karpenter would ignore web. To allow only certain values, use In.
        }
      }
    }
  }
}
