# lkeplan:ignore gated-feature NodeOverlay is on
overlay "cheap" {
  requirements = { class = "dedicatd" } # want: Overlay matches no plan: None of the 42 plans that are sold in us-ord on the standard tier has what the overlay requires
  price        = "0.1"
}
