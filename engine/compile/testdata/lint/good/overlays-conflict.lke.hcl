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
  weight       = 4
}

# lkeplan:ignore gated-feature NodeOverlay is on
overlay "c" {
  requirements = { class = "standard" }
  price        = "0.1"
  weight       = 3
}
