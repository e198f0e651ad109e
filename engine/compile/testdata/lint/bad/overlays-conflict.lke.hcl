# lkeplan:ignore gated-feature NodeOverlay is on
overlay "a" {
  requirements = { class = "dedicated" }
  price        = "0.1"
  weight       = 3
}

# lkeplan:ignore gated-feature NodeOverlay is on
overlay "b" {
  requirements = { class = "dedicated" }
  price        = "0.1"
  weight       = 3 # want: Overlays of equal weight conflict: This overlay and overlay.a set the same field of g6-dedicated-2, and both have the weight 3. Karpenter then applies the overlay whose name is last in the alphabet, overlay.b, and ignores overlay.a completely. Give the overlay that must win a larger weight.
}
