# lkeplan:ignore gated-feature NodeOverlay is on
overlay "cheap" {
  requirements = { class = "dedicatd" } # want: No plan type meets the requirements of the overlay: None of the 42 plan types that are sold in us-ord for the standard tier meets the requirements of the overlay, so it has no effect. More: lkeplan explain overlay-of-no-plan.
  price        = "0.1"
}
