pool "web" {
  node_class = node_class.default
  manifest = {
    spec = {
      template = {
        spec = {
          requirements = [{ key = "example.com/tier", operator = "Exists", values = ["web"] }] # want: Field has an argument: && Values without effect: The operator Exists takes no values, so Karpenter would ignore web. To allow only certain values, use In. More: lkeplan explain values-without-effect.
        }
      }
    }
  }
}
