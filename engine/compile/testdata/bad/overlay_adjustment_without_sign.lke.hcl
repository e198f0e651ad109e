overlay "a" {
  requirements     = {}
  price_adjustment = "10%" # want: Invalid NodeOverlay: spec.priceAdjustment: "10%" is not valid for price_adjustment: An amount or percentage to add to the real price, always with a sign: "-10%" or "+0.05".
}
