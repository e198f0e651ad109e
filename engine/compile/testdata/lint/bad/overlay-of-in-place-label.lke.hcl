pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 6) }
  limits       = { cpu = 60 }
  labels       = { "example.com/team" = "web" }
  in_place     = ["example.com/team"]
}

# lkeplan:ignore gated-feature NodeOverlay is on
overlay "web" {
  requirements     = { "example.com/team" = "web" } # want: Overlay selects a label that changes in place: The overlay selects pools by the label example.com/team, which pool.web can change in place: after such a change, the overlay applies to other pools. Select the pool by karpenter.sh/nodepool, or remove the label from in_place. More: lkeplan explain overlay-of-in-place-label.
  price_adjustment = "-10%"
}
