pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 6) }
  limits       = { cpu = 60 }
  labels       = { "example.com/team" = "web" }
  in_place     = ["example.com/team"]
}

# lkeplan:ignore gated-feature NodeOverlay is on
overlay "web" {
  requirements     = { "karpenter.sh/nodepool" = "web" }
  price_adjustment = "-10%"
}
