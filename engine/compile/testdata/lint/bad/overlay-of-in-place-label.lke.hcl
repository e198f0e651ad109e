pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 6) }
  limits       = { cpu = 60 }
  labels       = { "example.com/team" = "web" }
  in_place     = ["example.com/team"]
}

# lkeplan:ignore gated-feature NodeOverlay is on
overlay "web" {
  requirements     = { "example.com/team" = "web" } # want: Overlay selects a label that changes in place: The overlay selects pools by the label example.com/team, which pool.web changes in place
  price_adjustment = "-10%"
}
