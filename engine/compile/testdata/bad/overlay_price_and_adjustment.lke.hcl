overlay "a" { # want: Invalid NodeOverlay: spec: cannot set both 'price' and 'priceAdjustment'.
  requirements     = {}
  price            = "1"
  price_adjustment = "+1"
}
