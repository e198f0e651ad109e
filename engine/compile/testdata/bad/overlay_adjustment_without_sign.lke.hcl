overlay "a" {
  requirements     = {}
  price_adjustment = "10%" # want: Invalid NodeOverlay: The argument price_adjustment is "10%". Write an amount or a percentage with a sign, such as "+0.05" or "-10%". A percentage cannot be below "-100%".
}
