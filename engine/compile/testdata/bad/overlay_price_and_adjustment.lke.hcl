overlay "a" { # want: Invalid NodeOverlay: An overlay cannot set both price and price_adjustment. Delete one of them.
  requirements     = {}
  price            = "1"
  price_adjustment = "+1"
}
