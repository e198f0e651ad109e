# lkeplan:ignore gated-feature NodeOverlay is on
overlay "cheap" {
  requirements = { class = "dedicatd" } # want: Overlay matches no plan: None of the 42 plans that are sold in us-ord on the standard tier meets the requirements of the overlay, so it has no effect.
  price        = "0.1"
}
