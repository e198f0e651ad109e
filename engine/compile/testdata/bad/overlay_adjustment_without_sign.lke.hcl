overlay "a" {
  requirements     = {}
  price_adjustment = "10%" # want: Invalid NodeOverlay: spec.priceAdjustment: should match
}
